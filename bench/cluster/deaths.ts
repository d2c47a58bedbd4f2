import { setTimeout as delay } from 'node:timers/promises';
import type { RunningServer } from '../../test/support/process.ts';
import type { HttpConnection } from '../http-connection.ts';
import type { HttpSession } from '../http-session.ts';
import { progress } from '../rows.ts';
import { sampled } from '../sample.ts';
import { add, below, none } from './goals.ts';
import { bridge, connectTo, everwire, inLanes, openSessions, sdk, withCluster } from './start.ts';

const PROCESSES = 3;
const SESSIONS = 1000;
/** How many requests are in flight after a death. */
const IN_FLIGHT = 16;
/** How many children end with their process. */
const CHILDREN = 8;
/** A process that has just started waits so long before it counts others as gone. Milliseconds. */
const YOUNG = 4000;
/** How long a child may be gone. Milliseconds. */
const PATIENCE = 30_000;
/** Milliseconds before a request is repeated. */
const PAUSE = 5;

/** The next request of each session after one of three processes was killed. */
export async function deathRows(): Promise<void> {
  for (const [who, program] of Object.entries({ everwire, 'sdk v1, events in Redis, sticky': sdk })) {
    progress(`cluster, kill -9: ${who}`);
    await withCluster(PROCESSES, program, async ({ servers }) => {
      const opened = await Promise.all(
        servers.map(async (server, own) =>
          (await openSessions(server, share(own))).map((session) => ({ session, own })),
        ),
      );
      const [dead, ...others] = servers as [RunningServer, ...RunningServer[]];
      dead.child.kill('SIGKILL');
      const started = performance.now();
      const latencies: number[] = [];
      let lost = 0;
      await inLanes(opened.flat().entries(), IN_FLIGHT, async ([index, { session, own }]) => {
        // A balancer that sticks sends only the sessions of the dead process elsewhere.
        const at = program === sdk && own > 0 ? servers[own]! : others[index % others.length]!;
        const sent = performance.now();
        if (await isAnswered(session, at)) latencies.push(performance.now() - sent);
        else lost += 1;
      });
      const { p50, p99 } = sampled(latencies, performance.now() - started);
      const slowest = Math.max(...latencies);
      const isOurs = program === everwire;
      const what = 'kill -9 of one of 3 processes';
      const target = isOurs ? below(slowest, 100, 'ms') : undefined;
      add(`${what}: the slowest next request`, who, `${slowest.toFixed(1)} ms`, target, { p50, p99 });
      add(`${what}: sessions lost`, who, `${lost} of ${SESSIONS}`, isOurs ? none(lost) : undefined);
    });
  }
}

function share(index: number): number {
  return Math.floor(SESSIONS / PROCESSES) + (index < SESSIONS % PROCESSES ? 1 : 0);
}

/** How long the clients of a bridge have no child after the process with their children was killed, or was frozen. */
export async function childRows(): Promise<void> {
  for (const [signal, limit, how] of [
    ['SIGKILL', 1, 'is killed'],
    ['SIGSTOP', 4, 'is frozen'],
  ] as const) {
    progress(`cluster, bridge: the process of ${CHILDREN} children ${how}`);
    await withCluster(2, bridge, async ({ servers: [owner, other] }) => {
      const sessions = await openSessions(owner!, CHILDREN);
      for (const session of sessions) {
        if (!(await isAnswered(session, owner!))) throw new Error('a child does not answer');
        if (!(await isAnswered(session, other!))) throw new Error('a child of another process does not answer');
      }
      await delay(YOUNG);
      const started = performance.now();
      owner!.child.kill(signal);
      const took: number[] = [];
      await inLanes(sessions, CHILDREN, async (session) => {
        while (!(await isAnswered(session, other!))) {
          if (performance.now() - started > PATIENCE)
            throw new Error(`a child was not replaced when its process ${how}`);
          await delay(PAUSE);
        }
        took.push(performance.now() - started);
      });
      const slowest = Math.max(...took) / 1000;
      const what = `the process of a bridge's child ${how}: next right answer, slowest of ${CHILDREN}`;
      add(what, 'everwire', `${slowest.toFixed(2)} s`, below(slowest, limit, 's'));
    });
  }
}

/** Whether a process gives the right answer to the next call of a session. */
async function isAnswered(session: HttpSession, at: RunningServer): Promise<boolean> {
  const connection: HttpConnection = connectTo(at);
  try {
    const { request, expected } = session.call();
    const { status, body } = await connection.request(request);
    return status === 200 && body.includes(expected);
  } finally {
    connection.close();
  }
}
