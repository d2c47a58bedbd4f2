import { startTimer } from '../../../base/timer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';

/** Resolves after `milliseconds`. @throws the reason of `cancellation` as soon as it is over. */
export function pause(milliseconds: number, cancellation: Lifetime): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.ended) return reject(cancellation.ended);
    const stop = (): void => {
      clearTimeout(timer);
      reject(cancellation.ended!);
    };
    const timer = startTimer(Math.max(1, milliseconds), () => {
      cancellation.offAbort(stop);
      resolve();
    });
    cancellation.onAbort(stop);
  });
}
