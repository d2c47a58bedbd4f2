import { descendants, programs, type RunningServer } from '../../test/support/process.ts';
import { cpuSpent } from '../processes.ts';
import { loadCallers } from '../http-load.ts';
import { HttpSession } from '../http-session.ts';
import { progress } from '../rows.ts';
import { median, medianSample, type Sample } from '../sample.ts';
import type { HttpCalls } from '../http-calls.ts';
import { add, atLeast } from './goals.ts';
import { connectTo, withCluster } from './start.ts';

const IN_FLIGHT = 8;
const WARM_UP = 1;
const ATTEMPTS = 10;
/** The share of its time that a process works at least if it gets calls. */
const BUSY = 0.2;
/** The demo has no tool that needs much processor time. So its calls have this many items that it must parse. */
const ITEMS = 20_000;

/** One command with two workers, beside one with one, for calls that need much processor time. */
export async function workerRows(seconds: number, rounds: number): Promise<void> {
  const samples: Sample[][] = [[], []];
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, own] of samples.entries()) {
      const count = index + 1;
      progress(`cluster, --workers ${count}, round ${round}`);
      const program = [...programs.everwire, 'demo', '--port', '0', '--workers', `${count}`];
      own.push(await withCluster(1, program, ({ servers: [server] }) => loadHeavy(server!, count, seconds)));
    }
  }
  const [one, two] = samples as [Sample[], Sample[]];
  const ratio = median(two.map(({ perSecond }, round) => perSecond / one[round]!.perSecond));
  for (const [index, own] of samples.entries()) {
    const sample = medianSample(own);
    const result = `${Math.round(sample.perSecond)} req/s, ${(index === 0 ? 1 : ratio).toFixed(2)} of one`;
    const target = index === 0 ? undefined : atLeast(ratio, 1.6);
    add(
      `calls with ${ITEMS.toLocaleString('en')} items to parse, --workers ${index + 1}`,
      'everwire',
      result,
      target,
      sample,
    );
  }
}

/** The first worker serves before the others are ready. So only a time counts in which all of them had work. */
async function loadHeavy(server: RunningServer, count: number, seconds: number): Promise<Sample> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const { sample, working } = await loadOnce(server, seconds);
    if (working === count) return sample;
  }
  throw new Error(`Not all of ${count} workers had work`);
}

async function loadOnce(server: RunningServer, seconds: number): Promise<{ sample: Sample; working: number }> {
  const callers = [];
  for (let n = 0; n < IN_FLIGHT; n += 1) {
    const connection = connectTo(server);
    const session = await HttpSession.open(new URL(server.url), connection);
    callers.push({ calls: heavy(session), connection });
  }
  try {
    await loadCallers(callers, WARM_UP);
    const before = [server.pid, ...descendants(server.pid)].map((pid) => ({ pid, spent: cpuSpent({ pid })! }));
    const sample = await loadCallers(callers, seconds);
    const working = before.filter(({ pid, spent }) => cpuSpent({ pid })! - spent > BUSY * seconds * 1e6);
    return { sample, working: working.length };
  } finally {
    for (const { connection } of callers) connection.close();
  }
}

/** The same call again and again: to make one costs the load generator nothing. */
function heavy(session: HttpSession): HttpCalls {
  const items = Array.from({ length: ITEMS }, (_, n) => ({ n, text: `item ${n}` }));
  const call = { request: session.callOf('add', { a: 2, b: 40, items }), expected: '"42"' };
  return { url: session.url, call: () => call };
}
