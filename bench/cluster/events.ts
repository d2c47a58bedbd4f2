import { setTimeout as delay } from 'node:timers/promises';
import type { RunningServer } from '../../test/support/process.ts';
import { HttpConnection } from '../http-connection.ts';
import { HttpSession } from '../http-session.ts';
import { progress } from '../rows.ts';
import { sampled } from '../sample.ts';
import { add, below } from './goals.ts';
import { connectTo, everwire, sdk, withCluster } from './start.ts';

const PER_SECOND = 1000;
/** The time for the reader to come before the events begin. Milliseconds. */
const PAUSE = 1000;
/** How long to wait for the end of the call after its last event. Milliseconds. */
const PATIENCE = 30_000;

/** How long the event of a call takes to a client that reads the stream of the call at another process. */
export async function eventRows(seconds: number): Promise<void> {
  const what = `an event of a call to a reader at another process, ${PER_SECOND.toLocaleString('en')}/s`;
  progress('cluster, events elsewhere: everwire');
  await withCluster(2, everwire, async ({ servers: [writer, reader] }) => {
    const count = PER_SECOND * seconds;
    const { session, lastEventId } = await beginCall(writer!, { pause: PAUSE, perSecond: PER_SECOND, count });
    const { p50, p99 } = sampled(await readTicks(session, reader!, lastEventId, count), seconds * 1000);
    add(what, 'everwire', `${count.toLocaleString('en')} in order`, below(p50, 1, 'ms'), { p50, p99 });
  });
  progress('cluster, events elsewhere: sdk v1');
  await withCluster(2, sdk, async ({ servers: [writer, reader] }) => {
    const { session, lastEventId } = await beginCall(writer!, {});
    const connection = connectTo(reader!);
    const { status } = await connection.openStream(session.get(lastEventId));
    connection.close();
    add(what, 'sdk v1, events in Redis', status === 200 ? 'read' : `refused with ${status}: session unknown`);
  });
}

/** Begins a call of `tick`, and leaves its stream after the first event. */
async function beginCall(at: RunningServer, args: object): Promise<{ session: HttpSession; lastEventId: string }> {
  const url = new URL(at.url);
  const connection = new HttpConnection(url);
  const session = await HttpSession.open(url, connection);
  const { head } = await connection.openStream(session.callOf('tick', args), '\nid: ');
  connection.close();
  const lastEventId = /\nid: *(\S+)/.exec(head)?.[1];
  if (lastEventId === undefined) throw new Error(`The stream has no event id: ${head}`);
  return { session, lastEventId };
}

/** The milliseconds that each event took to its reader. Rejects if one is missing, doubled or out of order. */
async function readTicks(
  session: HttpSession,
  at: RunningServer,
  lastEventId: string,
  count: number,
): Promise<number[]> {
  const latencies: number[] = [];
  let last = lastEventId;
  /** Milliseconds after which the reader comes again. */
  let retry = 0;
  let isOver = false;
  const take = (line: string): void => {
    const now = performance.timeOrigin + performance.now();
    last = /^id: *(\S+)/.exec(line)?.[1] ?? last;
    const [, number, sent] = /^data: .*"data":"(\d+) ([\d.]+)"/.exec(line) ?? [];
    if (number !== undefined && Number(number) !== latencies.push(now - Number(sent)))
      throw new Error(`event ${number} came as number ${latencies.length}`);
    isOver ||= /^data: .*"text":"end"/.test(line);
    if (line.startsWith('retry: ')) retry = Number(line.slice('retry: '.length));
  };
  const latest = performance.now() + PAUSE + (count / PER_SECOND) * 1000 + PATIENCE;
  while (!isOver) {
    await readLines(connectTo(at), session.get(last), latest, take);
    if (!isOver) await delay(retry);
  }
  if (latencies.length !== count) throw new Error(`${latencies.length} of ${count} events`);
  return latencies;
}

/** Reads the lines of an event stream to its end. */
async function readLines(
  connection: HttpConnection,
  request: string,
  latest: number,
  online: (line: string) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error('the stream does not end')), latest - performance.now());
      let rest = '';
      const read = (text: string): void => {
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        try {
          for (const line of lines) online(line);
        } catch (error) {
          reject(error);
        }
        // The size of the last chunk.
        if (lines.includes('0\r')) resolve();
      };
      connection.openStream(request, '', read).then(({ status, head }) => {
        if (status === 200) read(head);
        else reject(new Error(head));
      }, reject);
    });
  } finally {
    clearTimeout(timer);
    connection.close();
  }
}
