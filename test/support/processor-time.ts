/** The processor time of this process that some work takes, in milliseconds. The time of day would count other processes too. */
export function processorTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1000;
}

/** The shortest of three runs, because the first may compile code, and each may collect garbage of others. */
export function shortestProcessorTime(work: () => void): number {
  return Math.min(...Array.from({ length: 3 }, () => processorTime(work)));
}
