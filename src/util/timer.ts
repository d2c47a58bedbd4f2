/** What a timer can wait, in milliseconds: almost 25 days. */
export const MAX_TIMER = 2 ** 31 - 1;

export type Timer = ReturnType<typeof setTimeout> | undefined;

/**
 * Calls back once a limit of time is over.
 *
 * @param limit in milliseconds; 0 for ever, and so what is longer than a timer can wait: `setTimeout` would fire at once.
 * @returns what `clearTimeout` takes.
 */
export function startTimer(limit: number, onexpired: () => void): Timer {
  return limit > 0 && limit <= MAX_TIMER ? setTimeout(onexpired, limit) : undefined;
}
