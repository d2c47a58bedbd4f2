import type { TimeLimits } from '../../jsonrpc/pending.ts';

/** What a timer can wait, in milliseconds: almost 25 days. What may take longer, may take for ever. */
const MAX_TIMER = 2 ** 31 - 1;

/** The time that something may take, counted anew from each sign of progress, under a hard maximum. */
export class Deadline {
  readonly #limits: TimeLimits;
  readonly #onexpired: (limit: number) => void;
  readonly #started = Date.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param onexpired called once with the limit that was reached, in milliseconds. */
  constructor(limits: TimeLimits, onexpired: (limit: number) => void) {
    this.#limits = limits;
    this.#onexpired = onexpired;
    this.extend();
  }

  extend(): void {
    clearTimeout(this.#timer);
    const { timeout, maxTimeout } = this.#limits;
    const remaining = maxTimeout > 0 ? Math.max(0, this.#started + maxTimeout - Date.now()) : Infinity;
    const wait = Math.min(timeout > 0 ? timeout : Infinity, remaining);
    // A longer timer would fire at once.
    if (wait > MAX_TIMER) return;
    this.#timer = setTimeout(() => this.#onexpired(wait === remaining ? maxTimeout : timeout), wait);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
