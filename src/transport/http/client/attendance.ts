import { startTimer, type Timer } from '../../../base/timer.ts';

/**
 * The time left of a limit that does not count the time of a person's login. All times in milliseconds.
 *
 * @param waited how long ago the limit was set.
 * @param loginActiveUntil when a login was last in progress, as `Date.now()` gives it; Infinity while one is.
 * @returns 0 if the limit is over.
 */
export function leftOf(limit: number, waited: number, loginActiveUntil: number, now = Date.now()): number {
  if (loginActiveUntil <= now - waited) return 0;
  return Math.max(0, Math.min(limit, loginActiveUntil + limit - now));
}

/**
 * Calls back when a time limit is over. The limit does not count the time of a person's login.
 *
 * @param limit in milliseconds; 0 for no limit.
 * @returns a function that stops it.
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
