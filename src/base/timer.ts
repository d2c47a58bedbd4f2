/** The longest timer delay in milliseconds: almost 25 days. */
export const MAX_TIMER = 2 ** 31 - 1;

export type Timer = ReturnType<typeof setTimeout> | undefined;

/**
 * Calls `onexpired` after a time limit.
 *
 * @param limit in milliseconds. 0, or more than `MAX_TIMER`, means no limit: `setTimeout` would fire at once.
 * @returns the argument for `clearTimeout`.
 */
export function startTimer(limit: number, onexpired: () => void): Timer {
  return limit > 0 && limit <= MAX_TIMER ? setTimeout(onexpired, limit) : undefined;
}
