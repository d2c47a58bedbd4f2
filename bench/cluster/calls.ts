import type { RunningServer } from '../../test/support/process.ts';
import { cpuSpent } from '../processes.ts';
import { progress } from '../rows.ts';
import { loadCallers } from '../http-load.ts';
import { median } from '../sample.ts';
import { add, atLeast } from './goals.ts';
import { connectTo, everwire, openSessions, sdk, withCluster, withServers } from './start.ts';

const PROCESSES = 3;
/** How many calls are in flight at each process. */
const IN_FLIGHT = 16;
/** Seconds for each process: several share the processors, and each must have optimized its code. */
const WARM_UP = 2;

/** Which processes serve, and where the next request of a session goes. */
interface Way {
  readonly who: string;
  readonly run: (measure: (servers: readonly RunningServer[]) => Promise<number>) => Promise<number>;
  readonly sticky: boolean;
}

const WAYS: readonly Way[] = [
  {
    who: 'everwire, 1 process without a store',
    run: (measure) => withServers(1, everwire, measure),
    sticky: true,
  },
  {
    who: 'everwire, 3 with Redis, not sticky',
    run: (measure) => withCluster(PROCESSES, everwire, ({ servers }) => measure(servers)),
    sticky: false,
  },
  {
    who: 'everwire, 3 without a store, sticky',
    run: (measure) => withServers(PROCESSES, everwire, measure),
    sticky: true,
  },
  {
    who: 'sdk v1, 1 process without a store',
    run: (measure) => withServers(1, sdk, measure),
    sticky: true,
  },
  {
    who: 'sdk v1, 3 with events in Redis, sticky',
    run: (measure) => withCluster(PROCESSES, sdk, ({ servers }) => measure(servers)),
    sticky: true,
  },
];

/** What a native call costs all processes together, beside a single one without a store. */
export async function callRows(seconds: number, rounds: number): Promise<void> {
  const costs = WAYS.map(() => [] as number[]);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, { who, run, sticky }] of WAYS.entries()) {
      progress(`cluster, native calls: ${who}, round ${round}`);
      costs[index]!.push(await run((servers) => cpuPerCall(servers, sticky, seconds)));
    }
  }
  for (const [index, { who }] of WAYS.entries()) {
    const ratio = median(costs[index]!.map((cost, round) => costs[0]![round]! / cost));
    const what = `native call, processor of the servers, ${IN_FLIGHT} in flight at each`;
    const result = `${median(costs[index]!).toFixed(1)} µs, ${ratio.toFixed(2)} of the first`;
    add(what, who, result, index === 1 ? atLeast(ratio, 0.95) : undefined);
  }
}

/** The microseconds of processor time of all processes together. */
async function cpuPerCall(servers: readonly RunningServer[], sticky: boolean, seconds: number): Promise<number> {
  const callers = [];
  for (const [own, server] of servers.entries()) {
    // A session that moves begins at its own process.
    const others = sticky ? [] : [...servers.slice(own + 1), ...servers.slice(0, own)];
    for (const calls of await openSessions(server, IN_FLIGHT))
      callers.push({ calls, connections: [server, ...others].map(connectTo) });
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
