import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunningServer } from '../../test/support/process.ts';
import { bridges } from '../bridges.ts';
import { HttpConnection } from '../http-connection.ts';
import { HttpSession } from '../http-session.ts';
import { peerScript, stop } from '../processes.ts';
import { progress } from '../rows.ts';
import { add, below, none } from './goals.ts';
import { connectTo, everwire, inLanes, openSessions, withServers } from './start.ts';

const SESSIONS = 10_000;
/** The store keeps 256 MiB of events. One event of each session fills it. */
const EVENT = 26_300;
const IN_FLIGHT = 16;
/** How many sessions of supergateway there are. Each has two processes. */
const OTHERS = 20;

/** A restart of one process with many sessions. */
export async function restartRows(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-bench-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    await ourRestart(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

async function ourRestart(folder: string): Promise<void> {
  const args = [...everwire, '--store', folder];
  progress(`cluster, restart: ${SESSIONS.toLocaleString('en')} sessions`);
  const ends: { session: HttpSession; first: string }[] = [];
  const sessions = await withServers(1, args, async ([server]) => {
    const opened = await openSessions(server, SESSIONS);
    await eachOf(opened, server, async (session, connection) => {
      const { status, body } = await connection.request(session.callOf('fill', { length: EVENT }));
      const first = /\nid: *(\S+)/.exec(body)?.[1];
      if (status !== 200 || first === undefined || !body.includes('"filled"'))
        throw new Error(`${status} ${body.slice(-500)}`);
      ends.push({ session, first });
    });
    return opened;
  });
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
  progress('cluster, restart: ready');
  const started = performance.now();
  await withServers(1, args, async ([server]) => {
    const connection = connectTo(server);
    if (!(await isKnown(sessions[0]!, connection))) throw new Error('the first session is lost');
    const ready = (performance.now() - started) / 1000;
    const stored = `${SESSIONS.toLocaleString('en')} sessions, ${(bytes / 2 ** 20).toFixed(0)} MiB on disk`;
    add(
      `kill -9 and restart, ${stored}: first right answer`,
      'everwire',
      `${ready.toFixed(2)} s`,
      below(ready, 2, 's'),
    );
    // The newest streams must be there: older ones may have been removed at the limit.
    for (const { session, first } of ends.slice(-10)) {
      const { status, body } = await connection.request(session.get(first));
      if (status !== 200 || !body.includes('x'.repeat(EVENT)))
        throw new Error(`The events are lost: ${status} ${body.slice(0, 500)}`);
    }
    connection.close();
    progress('cluster, restart: all sessions');
    let lost = 0;
    await eachOf(sessions, server, async (session, used) => {
      if (!(await isKnown(session, used))) lost += 1;
    });
    add('kill -9 and restart: sessions lost', 'everwire', `${lost} of ${SESSIONS}`, none(lost));
  });
}

/** Works on sessions, several at a time, each with a connection. */
async function eachOf(
  sessions: readonly HttpSession[],
  server: RunningServer,
  work: (session: HttpSession, connection: HttpConnection) => Promise<void>,
): Promise<void> {
  const free = Array.from({ length: IN_FLIGHT }, () => connectTo(server));
  try {
    await inLanes(sessions, IN_FLIGHT, async (session) => {
      const connection = free.pop()!;
      await work(session, connection);
      free.push(connection);
    });
  } finally {
    for (const connection of free) connection.close();
  }
}

async function isKnown(session: HttpSession, connection: HttpConnection): Promise<boolean> {
  const { request, expected } = session.call();
  const { status, body } = await connection.request(request);
  return status === 200 && body.includes(expected);
}

/** A restart of supergateway, which has no store. */
export async function supergatewayRows(): Promise<void> {
  progress('cluster, restart: supergateway');
  const start = bridges.supergateway([process.execPath, peerScript('bare-stdio')]);
  const former = await start();
  const sessions: HttpSession[] = [];
  try {
    for (let n = 0; n < OTHERS; n += 1) {
      const connection = new HttpConnection(former.url);
      const session = await HttpSession.open(former.url, connection);
      if (!(await isKnown(session, connection))) throw new Error('supergateway does not answer');
      sessions.push(session);
      connection.close();
    }
  } finally {
    await stop(former.process);
  }
  const next = await start();
  try {
    let lost = 0;
    for (const session of sessions) {
      const connection = new HttpConnection(next.url);
      if (!(await isKnown(session, connection))) lost += 1;
      connection.close();
    }
    add('SIGTERM and restart: sessions lost', 'supergateway', `${lost} of ${OTHERS}`);
  } finally {
    await stop(next.process);
  }
}
