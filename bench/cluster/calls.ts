import type { RunningServer } from '../../test/support/process.ts';
import { cpuSpent } from '../processes.ts';
import { progress } from '../rows.ts';
import { loadCallers, type HttpCaller } from '../http-load.ts';
import { median } from '../sample.ts';
import { add, atLeast } from './goals.ts';
import { connectTo, everwire, openSessions, sdk, withCluster, withServers } from './start.ts';

const PROCESSES = 3;
/** How many calls are in flight at each process. */
const IN_FLIGHT = 16;
/** Seconds for each process: several share the processors, and each must have optimized its code. */
const WARM_UP = 2;

/**
 * Where the next call of a client goes: to the same process, or to the next one. There, it goes on with its session, or has
 * another one.
 */
type Next = 'same' | 'next, one session' | 'next, a session at each';

/** Which processes serve, and how clients call them. */
interface Way {
  readonly who: string;
  readonly run: (measure: (servers: readonly RunningServer[]) => Promise<number>) => Promise<number>;
  readonly next: Next;
}

const FIRST = 'everwire, 1 process without a store';
/** The same process with a store. The difference between these two is the price of the store alone. */
const STORED = 'everwire, 1 process with Redis';
const MOVING = 'everwire, 3 with Redis, not sticky';
/**
 * The same calls on the same connections, but no session moves and there is no store. Calls that move come in waves: most are
 * at one process, and then at the next one. That costs processor time, whatever the processes serve.
 */
const CONTROL = 'everwire, 3 without a store, not sticky';

const WAYS: readonly Way[] = [
  {
    who: FIRST,
    run: (measure) => withServers(1, everwire, measure),
    next: 'same',
  },
  {
    who: STORED,
    run: (measure) => withCluster(1, everwire, ({ servers }) => measure(servers)),
    next: 'same',
  },
  {
    who: MOVING,
    run: (measure) => withCluster(PROCESSES, everwire, ({ servers }) => measure(servers)),
    next: 'next, one session',
  },
  {
    who: CONTROL,
    run: (measure) => withServers(PROCESSES, everwire, measure),
    next: 'next, a session at each',
  },
  {
    who: 'everwire, 3 without a store, sticky',
    run: (measure) => withServers(PROCESSES, everwire, measure),
    next: 'same',
  },
  {
    who: 'sdk v1, 1 process without a store',
    run: (measure) => withServers(1, sdk, measure),
    next: 'same',
  },
  {
    who: 'sdk v1, 3 with events in Redis, sticky',
    run: (measure) => withCluster(PROCESSES, sdk, ({ servers }) => measure(servers)),
    next: 'same',
  },
];

/** What a native call costs all processes together, beside a single one without a store. */
export async function callRows(seconds: number, rounds: number): Promise<void> {
  const costs = new Map(WAYS.map(({ who }) => [who, [] as number[]]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { who, run, next } of WAYS) {
      progress(`cluster, native calls: ${who}, round ${round}`);
      costs.get(who)!.push(await run((servers) => cpuPerCall(servers, next, seconds)));
    }
  }
  const ratio = (who: string, other: string): number =>
    median(costs.get(who)!.map((cost, round) => costs.get(other)![round]! / cost));
  const what = `native call, processor of the servers, ${IN_FLIGHT} in flight at each`;
  for (const [who, measured] of costs) {
    const share = ratio(who, FIRST);
    const result = `${median(measured).toFixed(1)} µs, ${share.toFixed(2)} of the first`;
    add(what, who, result, who === MOVING ? atLeast(share, 0.95) : undefined);
  }
  const share = ratio(MOVING, CONTROL);
  add('native call, not sticky: processor without a store / with Redis', 'everwire', share.toFixed(2));
}

/** The microseconds of processor time of all processes together. */
async function cpuPerCall(servers: readonly RunningServer[], next: Next, seconds: number): Promise<number> {
  const callers: HttpCaller[] = [];
  for (const own of servers.keys()) {
    // A client that moves begins at its own process.
    const path = next === 'same' ? [servers[own]!] : [...servers.slice(own), ...servers.slice(0, own)];
    const withSessions = next === 'next, a session at each' ? path : path.slice(0, 1);
    const sessions = await Promise.all(withSessions.map((server) => openSessions(server, IN_FLIGHT)));
    for (let client = 0; client < IN_FLIGHT; client += 1) {
      const calls = path.map((_, at) => (sessions[at] ?? sessions[0]!)[client]!);
      callers.push({ calls, connections: path.map(connectTo) });
    }
  }
  try {
    await loadCallers(callers, WARM_UP * servers.length);
    const before = spent(servers);
    const { count } = await loadCallers(callers, seconds);
    return (spent(servers) - before) / count;
  } finally {
    for (const { connections } of callers) for (const connection of connections) connection.close();
  }
}

function spent(servers: readonly RunningServer[]): number {
  return servers.reduce((sum, server) => sum + cpuSpent(server)!, 0);
}
