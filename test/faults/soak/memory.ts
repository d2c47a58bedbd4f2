import { setTimeout as delay } from 'node:timers/promises';
import { eventually, type RunningProcess } from '../../support/process.ts';

/** The resources of a process after garbage collection. */
export interface Held {
  /** Bytes. */
  readonly heap: number;
  /** Bytes. */
  readonly rss: number;
  /** What keeps it alive: sockets, timers, processes. */
  readonly resources: readonly string[];
}

/** How much memory may grow, as a fraction. */
const MAX_GROWTH = 0.2;

/** The resources of a process that was started with `test/fixtures/measured.mjs`. */
export async function resourcesOf({ pid, stderr }: RunningProcess): Promise<Held> {
  const from = stderr.length;
  process.kill(pid, 'SIGUSR2');
  const line = await eventually(
    () => stderr.slice(from).find((each) => each.startsWith('holds ')),
    'it says what it holds',
    30_000,
  );
  return JSON.parse(line.slice('holds '.length)) as Held;
}

/** The resources of this process. */
export async function ownResources(): Promise<Held> {
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc!();
    await delay(50);
  }
  const { heapUsed: heap, rss } = process.memoryUsage();
  return { heap, rss, resources: process.getActiveResourcesInfo() };
}

export function count(resources: readonly string[], kind: string): number {
  return resources.filter((each) => each === kind).length;
}

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** Describes one process in a line. */
export function show(name: string, { heap, rss, resources }: Held): string {
  const sockets = count(resources, 'TCPSocketWrap');
  const timers = count(resources, 'Timeout');
  return `${name} ${megabytes(heap)} / ${megabytes(rss)} MiB, ${sockets} sockets, ${timers} timers`;
}

/** Whether a process has grown too much between two measurements. Prints the difference. */
export function grew(name: string, before: Held, after: Held): boolean {
  let tooMuch = false;
  for (const kind of ['heap', 'rss'] as const) {
    const growth = after[kind] / before[kind] - 1;
    const percent = `${growth >= 0 ? '+' : ''}${(growth * 100).toFixed(1)} %`;
    console.log(`${name}: ${kind} ${megabytes(before[kind])} -> ${megabytes(after[kind])} MiB (${percent})`);
    if (growth > MAX_GROWTH) tooMuch = true;
  }
  return tooMuch;
}
