import type { RunningServer } from '../../test/support/process.ts';
import { loadInWaves } from '../http-load.ts';
import { cpuSpent } from '../processes.ts';
import { progress } from '../rows.ts';
import { median } from '../sample.ts';
import { add, atLeast } from './goals.ts';
import { connectTo, everwire, openSessions, sdk, withCluster, withServers } from './start.ts';

const PROCESSES = 3;
/** How many calls are in flight, all at the same process. */
const IN_FLIGHT = 16;
/** Seconds for each process, so that all have optimized their code. */
const WARM_UP = 2;

/** Which processes serve, and whether clients have one session for all of them, or one at each. */
interface Way {
  readonly who: string;
  readonly run: (measure: (servers: readonly RunningServer[]) => Promise<number>) => Promise<number>;
  readonly sessions: 'one' | 'one at each';
}

const FIRST = 'everwire, 1 process without a store';
const MOVING = 'everwire, 3 with Redis, not sticky';
/** The same waves of calls, but no session moves and there is no store. */
const CONTROL = 'everwire, 3 without a store';

const WAYS: readonly Way[] = [
  { who: FIRST, run: (measure) => withServers(1, everwire, measure), sessions: 'one' },
  {
    who: 'everwire, 1 process with Redis',
    run: (measure) => withCluster(1, everwire, ({ servers }) => measure(servers)),
    sessions: 'one',
  },
  {
    who: MOVING,
    run: (measure) => withCluster(PROCESSES, everwire, ({ servers }) => measure(servers)),
    sessions: 'one',
  },
  { who: CONTROL, run: (measure) => withServers(PROCESSES, everwire, measure), sessions: 'one at each' },
  { who: 'sdk v1, 1 process without a store', run: (measure) => withServers(1, sdk, measure), sessions: 'one' },
  {
    who: 'sdk v1, 3 with events in Redis',
    run: (measure) => withCluster(PROCESSES, sdk, ({ servers }) => measure(servers)),
    sessions: 'one at each',
  },
];

/**
 * What a native call costs all processes together, beside a single one without a store. The calls come in waves, each to the
 * next process. So each process has as much to do at a time as a single one, and they do not compete for the processors.
 */
export async function callRows(seconds: number, rounds: number): Promise<void> {
  const costs = new Map(WAYS.map(({ who }) => [who, [] as number[]]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { who, run, sessions } of WAYS) {
      progress(`cluster, native calls: ${who}, round ${round}`);
      costs.get(who)!.push(await run((servers) => cpuPerCall(servers, sessions, seconds)));
    }
  }
  const ratio = (who: string, other: string): number =>
    median(costs.get(who)!.map((cost, round) => costs.get(other)![round]! / cost));
  const what = `native call, processor of the servers, ${IN_FLIGHT} in flight`;
  for (const [who, measured] of costs) {
    const share = ratio(who, FIRST);
    const result = `${median(measured).toFixed(1)} µs, ${share.toFixed(2)} of the first`;
    add(what, who, result, who === MOVING ? atLeast(share, 0.95) : undefined);
  }
  const share = ratio(MOVING, CONTROL);
  add('native call at 3 processes: processor without a store / with Redis', 'everwire', share.toFixed(2));
}

/** The microseconds of processor time of all processes together. */
async function cpuPerCall(
  servers: readonly RunningServer[],
  sessions: Way['sessions'],
  seconds: number,
): Promise<number> {
  const opened = servers.slice(0, sessions === 'one' ? 1 : undefined);
  const open = await Promise.all(opened.map((server) => openSessions(server, IN_FLIGHT)));
  const groups = servers.map((server, at) =>
    (open[at] ?? open[0]!).map((calls) => ({ calls, connection: connectTo(server) })),
  );
  try {
    await loadInWaves(groups, WARM_UP * servers.length);
    const before = spent(servers);
    const count = await loadInWaves(groups, seconds * servers.length);
    return (spent(servers) - before) / count;
  } finally {
    for (const { connection } of groups.flat()) connection.close();
  }
}

function spent(servers: readonly RunningServer[]): number {
  return servers.reduce((sum, server) => sum + cpuSpent(server)!, 0);
}
