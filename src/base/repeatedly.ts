import { idlePause } from './wait.ts';

/**
 * Does something again and again, until the signal fires. Each pause begins when the former run has ended, so two runs never
 * overlap. Does not keep the process alive.
 *
 * @param interval how long each pause is. Milliseconds.
 * @param work must not fail.
 */
export async function repeatedly(interval: number, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  await idlePause(interval);
  while (!signal.aborted) {
    await work();
    await idlePause(interval);
  }
}
