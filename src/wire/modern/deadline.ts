import type { TimeLimits } from '../../jsonrpc/pending.ts';
import { startTimer, type Timer } from '../../jsonrpc/timer.ts';

/** The time that something may take, counted anew from each sign of progress, under a hard maximum. */
export class Deadline {
  readonly #limits: TimeLimits;
  readonly #onexpired: (limit: number) => void;
  readonly #started = Date.now();
  #timer: Timer;

  /** @param onexpired called once with the limit that was reached, in milliseconds. */
  constructor(limits: TimeLimits, onexpired: (limit: number) => void) {
    this.#limits = limits;
    this.#onexpired = onexpired;
    this.extend();
  }

  extend(): void {
    clearTimeout(this.#timer);
    const { timeout, maxTimeout } = this.#limits;
    const remaining = maxTimeout > 0 ? Math.max(1, this.#started + maxTimeout - Date.now()) : Infinity;
    const wait = Math.min(timeout > 0 ? timeout : Infinity, remaining);
    this.#timer = startTimer(wait, () => this.#onexpired(wait === remaining ? maxTimeout : timeout));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
