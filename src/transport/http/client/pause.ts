import { startTimer, type Timer } from '../../../base/timer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';

/** Settles when the work settles. @throws the reason of `cancellation` as soon as that ends. */
export function unlessEnded(work: Promise<void>, cancellation: Lifetime): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(cancellation.ended!);
    if (cancellation.ended) return stop();
    cancellation.onAbort(stop);
    work.finally(() => cancellation.offAbort(stop)).then(resolve, reject);
  });
}

/** Resolves after `milliseconds`. @throws the reason of `cancellation` as soon as that ends. */
export async function pause(milliseconds: number, cancellation: Lifetime): Promise<void> {
  let timer: Timer;
  const over = new Promise<void>((resolve) => {
    timer = startTimer(Math.max(1, milliseconds), resolve);
  });
  await unlessEnded(over, cancellation).finally(() => clearTimeout(timer));
}
