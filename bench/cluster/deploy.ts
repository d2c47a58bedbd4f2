import { setTimeout as delay } from 'node:timers/promises';
import type { RunningServer } from '../../test/support/process.ts';
import type { HttpSession } from '../http-session.ts';
import { progress } from '../rows.ts';
import { sampled } from '../sample.ts';
import { add, none } from './goals.ts';
import { connectTo, everwire, inLanes, openSessions, withCluster } from './start.ts';

const PROCESSES = 3;
const SESSIONS = 1000;
const IN_FLIGHT = 200;
/** How long each call takes. Milliseconds. */
const HOLD = 400;
/** Milliseconds in which a process gets no new requests, and is not ending yet. */
const PAUSE = 100;
/** Milliseconds until a process must have ended. */
const GRACE = 20_000;

/** Replaces three processes one by one, while their clients call. */
export async function deployRows(): Promise<void> {
  progress('cluster, rolling deployment');
  await withCluster(PROCESSES, everwire, async ({ servers, add: start }) => {
    const opened = await Promise.all(
      servers.map((server, index) =>
        openSessions(server, Math.floor(SESSIONS / PROCESSES) + (index < SESSIONS % PROCESSES ? 1 : 0)),
      ),
    );
    const balancer = new Balancer(servers);
    let isOver = false;
    const latencies: number[] = [];
    const failures: string[] = [];
    const called = new Set<HttpSession>();
    const begun = performance.now();
    function* calls(): Generator<HttpSession> {
      // All sessions have their turn, however short the deployment is.
      for (let turn = 0; !isOver || turn < SESSIONS; turn += 1) yield sessions[turn % SESSIONS]!;
    }
    const sessions = opened.flat();
    const calling = inLanes(calls(), IN_FLIGHT, async (session) => {
      const sent = performance.now();
      called.add(session);
      const failure = await balancer.call(session);
      if (failure === undefined) latencies.push(performance.now() - sent);
      else failures.push(failure);
    });
    try {
      for (const old of servers) {
        balancer.servers.push(await start());
        balancer.servers.splice(balancer.servers.indexOf(old), 1);
        await delay(PAUSE);
        await old.stop(GRACE);
      }
    } finally {
      isOver = true;
      await calling;
    }
    if (failures.length > 0) progress(`cluster, rolling deployment: ${failures[0]}`);
    const total = latencies.length + failures.length;
    const what = `rolling deployment, ${called.size} sessions, ${IN_FLIGHT} calls in flight: failed`;
    const result = `${failures.length} of ${total}, ${balancer.passedOn} sent to another process`;
    add(what, 'everwire', result, none(failures.length), sampled(latencies, performance.now() - begun));
  });
}

/** Sends each call to the next process. What certainly did not run goes to another one, as balancers do. */
class Balancer {
  readonly servers: RunningServer[];
  /** How many attempts did not run. */
  passedOn = 0;
  #turn = 0;

  constructor(servers: readonly RunningServer[]) {
    this.servers = [...servers];
  }

  /** Resolves with why the call failed, or with undefined. */
  async call(session: HttpSession): Promise<string | undefined> {
    const request = session.callOf('hold', { ms: HOLD });
    for (let attempts = 0; attempts < 2 * PROCESSES; attempts += 1) {
      const connection = connectTo(this.servers[(this.#turn += 1) % this.servers.length]!);
      try {
        const { status, body } = await connection.request(request);
        if (status === 200 && body.includes(`"text":"${HOLD}"`)) return undefined;
        if (status !== 503 || !body.includes('"notExecuted":true')) return `${status} ${body}`;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== 'ECONNREFUSED') return message;
      } finally {
        connection.close();
      }
      this.passedOn += 1;
    }
    return 'no process takes it';
  }
}
