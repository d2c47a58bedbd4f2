import { startTimer, type Timer } from './timer.ts';

/** Limits of one request's time. Both in milliseconds; 0 means none. */
export interface TimeLimits {
  /** How long to wait for the response. Progress restarts it. */
  readonly timeout: number;
  /** The longest wait, regardless of progress. */
  readonly maxTimeout: number;
}

/** A timeout that progress restarts, with a hard maximum. */
export class Deadline {
  readonly #limits: TimeLimits;
  readonly #onexpired: (limit: number) => void;
  readonly #started: number;
  #timer: Timer;

  /** @param onexpired called once with the limit that was reached, in milliseconds. */
  constructor(limits: TimeLimits, onexpired: (limit: number) => void) {
    this.#limits = limits;
    this.#onexpired = onexpired;
    this.#started = limits.maxTimeout > 0 ? Date.now() : 0;
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
