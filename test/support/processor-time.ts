/**
 * The processor time of this process that some work takes, in milliseconds, so that other processes do not count. It is the shortest of
 * three runs, because the first may compile code and each may collect garbage of others.
 */
export function processorTime(work: () => void): number {
  return Math.min(...Array.from({ length: 3 }, () => timed(work)));
}

function timed(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1000;
}
