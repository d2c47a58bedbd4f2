import type { ChildProcess } from 'node:child_process';
import { cpuSpent } from './processes.ts';
import { median, medianSample, type Sample } from './sample.ts';

/** The rows of the table that are measured so far, and what adds to them. */
export const rows: string[][] = [['what', 'who', 'result', 'p50 ms', 'p99 ms', 'cpu µs', 'peak MB', 'of bare']];

/** The samples of a peer, and the most memory that a process of it had: bytes, NaN if the system does not report it. */
export interface Measured {
  readonly who: string;
  readonly samples: readonly Sample[];
  readonly peak: number;
}

export function report(what: string, unit: string, measured: readonly Measured[]): void {
  const bare = measured[0]!.samples;
  for (const { who, samples, peak } of measured) {
    const { perSecond, p50, p99, cpu } = medianSample(samples);
    const megabytes = Number.isNaN(peak) ? '–' : (peak / 1e6).toFixed(0);
    const rate = `${Math.round(perSecond)} ${unit}`;
    const spent = cpu === undefined ? '–' : cpu.toFixed(1);
    const ofBare = medianRatio(samples, bare, 'perSecond');
    rows.push([what, who, rate, p50.toFixed(2), p99.toFixed(2), spent, megabytes, ofBare]);
  }
}

/** Adds what each request of a load cost a process. */
export async function withCpu(child: ChildProcess, load: () => Promise<Sample>): Promise<Sample> {
  const before = cpuSpent(child);
  const mainBefore = cpuSpent(child, 'main');
  const sample = await load();
  const after = cpuSpent(child);
  const mainAfter = cpuSpent(child, 'main');
  if (before === undefined || after === undefined || mainBefore === undefined || mainAfter === undefined) return sample;
  return { ...sample, cpu: (after - before) / sample.count, mainCpu: (mainAfter - mainBefore) / sample.count };
}

/** Compares within each round, because other work on this machine changes from round to round. */
export function medianRatio(samples: readonly Sample[], bare: readonly Sample[], key: 'perSecond' | 'mainCpu'): string {
  return median(samples.map((sample, round) => sample[key]! / bare[round]![key]!)).toFixed(2);
}

export function ratio(value: number, bare: number): string {
  return (value / bare).toFixed(2);
}

export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text !== '') process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${text}\n`);
}
