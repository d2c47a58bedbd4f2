/** The results of one round of load. Latencies are in milliseconds. */
export interface Sample {
  readonly count: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of processor time of the loaded process for each request. Undefined if the system does not tell. */
  readonly cpu?: number;
  /** The part of it that the main thread of the process spent. */
  readonly mainCpu?: number;
}

export function sampled(latencies: number[], elapsed: number): Sample {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { count: sorted.length, perSecond: (sorted.length * 1000) / elapsed, p50: at(0.5), p99: at(0.99) };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median of each value separately. */
export function medianSample(samples: readonly Sample[]): Sample {
  const cpu = samples.map((sample) => sample.cpu).filter((value) => value !== undefined);
  const mainCpu = samples.map((sample) => sample.mainCpu).filter((value) => value !== undefined);
  return {
    count: median(samples.map(({ count }) => count)),
    perSecond: median(samples.map(({ perSecond }) => perSecond)),
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
    ...(cpu.length === samples.length ? { cpu: median(cpu) } : {}),
    ...(mainCpu.length === samples.length ? { mainCpu: median(mainCpu) } : {}),
  };
}
