import type { RunningServer } from '../../test/support/process.ts';
import type { HttpConnection } from '../http-connection.ts';
import type { HttpSession } from '../http-session.ts';
import { callEach } from '../http-load.ts';
import { cpuSpent } from '../processes.ts';
import { progress } from '../rows.ts';
import { median } from '../sample.ts';
import { add, atLeast } from './goals.ts';
import { connectTo, everwire, openSessions, sdk, withCluster, withServers } from './start.ts';

const PROCESSES = 3;
/** How many calls are in flight, all at the same process. */
const IN_FLIGHT = 16;
/** Seconds for each process, so that all have optimized their code. */
const WARM_UP = 6;
/** How often a way and a single process are measured by turns in a round. */
const TURNS = 3;

/** Which processes serve, and whether clients have one session for all of them, or one at each. */
interface Way {
  readonly who: string;
  readonly run: (measure: (servers: readonly RunningServer[]) => Promise<void>) => Promise<void>;
  readonly sessions: 'one' | 'one at each';
  /** How many sessions there are, and calls in a wave. */
  readonly count: number;
}

const FIRST = 'everwire, 1 process without a store';
const MOVING = 'everwire, 3 with Redis, not sticky';
const SESSIONS = 1500;
const SDK_SESSIONS = 200;

const WAYS: readonly Way[] = [
  {
    who: 'everwire, 1 process with Redis',
    run: (measure) => withCluster(1, everwire, ({ servers }) => measure(servers)),
    sessions: 'one',
    count: SESSIONS,
  },
  {
    who: MOVING,
    run: (measure) => withCluster(PROCESSES, everwire, ({ servers }) => measure(servers)),
    sessions: 'one',
    count: SESSIONS,
  },
  {
    // The same waves, but no session moves and there is no store.
    who: 'everwire, 3 without a store',
    run: (measure) => withServers(PROCESSES, everwire, measure),
    sessions: 'one at each',
    count: SESSIONS,
  },
  {
    who: 'sdk v1, 1 process without a store',
    run: (measure) => withServers(1, sdk, measure),
    sessions: 'one',
    count: SDK_SESSIONS,
  },
  {
    who: 'sdk v1, 3 with events in Redis',
    run: (measure) => withCluster(PROCESSES, sdk, ({ servers }) => measure(servers)),
    sessions: 'one at each',
    count: SDK_SESSIONS,
  },
];

/**
 * What a native call costs all processes together, beside a single one without a store. In a wave, each session calls once, all
 * at the same process; the next wave goes to the next process. So a process has as much to do at a time as a single one,
 * and the processes do not compete for the processors. Each way is measured by turns with a single process, because the
 * machine is not equally fast all the time.
 */
export async function callRows(seconds: number, rounds: number): Promise<void> {
  const what = `native call, processor of the servers, ${IN_FLIGHT} in flight`;
  const firsts: number[] = [];
  const addRows: (() => void)[] = [];
  for (const way of WAYS) {
    const pairs: Pair[] = [];
    // Two processes of the same program differ as long as they run, so each round starts others.
    for (let round = 1; round <= rounds; round += 1) {
      progress(`cluster, native calls: ${way.who}, round ${round}`);
      pairs.push(...(await measurePairs(way, seconds)));
    }
    const share = median(pairs.map(([first, own]) => first / own));
    const cost = median(pairs.map(([, own]) => own));
    const target = way.who === MOVING ? atLeast(share, 0.95) : undefined;
    firsts.push(...pairs.map(([first]) => first));
    addRows.push(() => add(what, way.who, `${cost.toFixed(1)} µs, ${share.toFixed(2)} of the first`, target));
  }
  add(what, FIRST, `${median(firsts).toFixed(1)} µs`);
  for (const addRow of addRows) addRow();
}

/** The microseconds of a call of a single process, and of the way beside it. */
type Pair = readonly [first: number, own: number];

async function measurePairs({ run, sessions, count }: Way, seconds: number): Promise<Pair[]> {
  const pairs: Pair[] = [];
  await withServers(1, everwire, (single) =>
    run(async (servers) => {
      const first = await Waves.open(single, 'one', SESSIONS);
      const own = await Waves.open(servers, sessions, count);
      try {
        await first.cost(WARM_UP);
        await own.cost(WARM_UP * servers.length);
        for (let turn = 0; turn < TURNS; turn += 1) pairs.push([await first.cost(seconds), await own.cost(seconds)]);
      } finally {
        first.close();
        own.close();
      }
    }),
  );
  return pairs;
}

/** A process's connections, and the sessions of its waves. */
interface Group {
  readonly connections: readonly HttpConnection[];
  readonly sessions: readonly HttpSession[];
}

/** Calls in waves: those of one wave go to the same process, those of the next wave to the next one. */
class Waves {
  readonly #servers: readonly RunningServer[];
  readonly #groups: readonly Group[];

  private constructor(servers: readonly RunningServer[], groups: Group[]) {
    this.#servers = servers;
    this.#groups = groups;
  }

  static async open(servers: readonly RunningServer[], sessions: Way['sessions'], count: number): Promise<Waves> {
    const opened = servers.slice(0, sessions === 'one' ? 1 : undefined);
    const open = await Promise.all(opened.map((server) => openSessions(server, count)));
    const groups = servers.map((server, at) => ({
      connections: Array.from({ length: IN_FLIGHT }, () => connectTo(server)),
      sessions: open[at] ?? open[0]!,
    }));
    return new Waves(servers, groups);
  }

  /** Sends waves for some seconds. Returns the microseconds of processor time of a call, of all processes together. */
  async cost(seconds: number): Promise<number> {
    let count = 0;
    const before = this.#spent();
    for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
      for (const { connections, sessions } of this.#groups) {
        await callEach(sessions, connections);
        count += sessions.length;
      }
    }
    return (this.#spent() - before) / count;
  }

  close(): void {
    for (const { connections } of this.#groups) for (const connection of connections) connection.close();
  }

  #spent(): number {
    return this.#servers.reduce((sum, server) => sum + cpuSpent(server)!, 0);
  }
}
