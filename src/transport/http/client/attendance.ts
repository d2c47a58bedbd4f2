import { startTimer, type Timer } from '../../../util/timer.ts';

/**
 * What is left of a limit of time whose clock stands still while a person logs in. All in milliseconds.
 *
 * @param waited how long ago the limit was set.
 * @param loginActiveUntil when a person was busy last, as `Date.now()` has it; Infinity while one is.
 * @returns 0 where it is over.
 */
export function leftOf(limit: number, waited: number, loginActiveUntil: number, now = Date.now()): number {
  if (loginActiveUntil <= now - waited) return 0;
  return Math.max(0, Math.min(limit, loginActiveUntil + limit - now));
}

/**
 * Calls back once a limit of time is over whose clock stands still while a person logs in.
 *
 * @param limit in milliseconds, 0 for ever.
 * @returns what ends it.
 */
export function attendedTimer(limit: number, loginActiveUntil: () => number, onexpired: () => void): () => void {
  let timer: Timer;
  const arm = (wait: number): void => {
    timer = startTimer(wait, () => {
      const left = leftOf(limit, wait, loginActiveUntil());
      if (left > 0) arm(left);
      else onexpired();
    });
  };
  arm(limit);
  return () => clearTimeout(timer);
}
