import { startTimer, type Timer } from './timer.ts';

/** Limits of one request's time. Both in milliseconds; 0 means none. */
export interface TimeLimits {
  /** How long to wait for the response. Progress restarts it. */
  readonly timeout: number;
  /** The longest wait, regardless of progress. Default 0. */
  readonly maxTimeout?: number | undefined;
}

const NEVER = (): number => 0;

/** A timeout that progress restarts, with a hard maximum. */
export class Deadline {
  readonly #limits: TimeLimits;
  readonly #onexpired: (limit: number) => void;
  readonly #pausedUntil: () => number;
  readonly #started: number;
  #held = 0;
  /** What was left of the timeout when it was armed, or held. Milliseconds. 0: no limit. */
  #left = 0;
  /** When it was armed, or held, as in `performance.now()`. */
  #since = 0;
  /** The end of the last pause that has counted. */
  #paused: number | undefined;
  #timer: Timer;
  #expiresAt = Infinity;

  /**
   * @param onexpired called once with the limit that was reached, in milliseconds.
   * @param pausedUntil when the last pause ended, as in `Date.now()`; Infinity during a pause. Pauses count for the
   * maximum only.
   */
  constructor(limits: TimeLimits, onexpired: (limit: number) => void, pausedUntil = NEVER) {
    this.#limits = limits;
    this.#onexpired = onexpired;
    this.#pausedUntil = pausedUntil;
    this.#started = limits.maxTimeout ? performance.now() : 0;
    this.extend();
  }

  /** Whether only the maximum counts now. */
  get held(): boolean {
    return this.#held > 0;
  }

  /** When it expires if nothing restarts it, as in `Date.now()`. Infinity without a limit. */
  get expiresAt(): number {
    return this.#expiresAt;
  }

  extend(): void {
    if (this.held) this.#left = this.#limits.timeout;
    else this.#arm(this.#limits.timeout);
  }

  /** From now on only the maximum counts, until `release` has been called as often as `hold`. */
  hold(): void {
    this.#held += 1;
    // A server may ask thousands of questions while thousands of calls are in flight.
    if (this.#held > 1) return;
    const waited = performance.now() - this.#since;
    this.#arm(Math.max(this.#left - waited, this.#leftByPause(waited)));
  }

  /** The timeout goes on with what was left of it. */
  release(): void {
    this.#held -= 1;
    if (this.#held > 0) return;
    const left = this.#pauseIn(performance.now() - this.#since) === undefined ? this.#left : this.#limits.timeout;
    // A timer takes a millisecond at least. So many holds in a row must not start it again and again.
    if (left < 1 && this.#limits.timeout > 0) this.#onexpired(this.#limits.timeout);
    else this.#arm(left);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #arm(timeout: number): void {
    clearTimeout(this.#timer);
    const { maxTimeout = 0 } = this.#limits;
    this.#left = timeout;
    this.#since = performance.now();
    const remaining = maxTimeout > 0 ? Math.max(1, this.#started + maxTimeout - this.#since) : Infinity;
    const wait = Math.min(timeout > 0 && !this.held ? timeout : Infinity, remaining);
    this.#expiresAt = Date.now() + wait;
    this.#timer = startTimer(wait, () => (wait === remaining ? this.#onexpired(maxTimeout) : this.#expire(wait)));
  }

  #expire(waited: number): void {
    const left = this.#leftByPause(waited);
    if (left > 0) this.#arm(left);
    else this.#onexpired(this.#limits.timeout);
  }

  /** What a pause in the last `waited` milliseconds leaves of the timeout. */
  #leftByPause(waited: number): number {
    const { timeout } = this.#limits;
    const until = this.#pauseIn(waited);
    return until === undefined ? 0 : Math.min(timeout, until + timeout - Date.now());
  }

  /** The end of a pause in the last `waited` milliseconds, if it has not counted yet. */
  #pauseIn(waited: number): number | undefined {
    const until = this.#pausedUntil();
    // If the clock is set back, the end of a pause stays in the future. So it counts once.
    const counts = until > Date.now() - waited && (until === Infinity || until !== this.#paused);
    this.#paused = until;
    return counts ? until : undefined;
  }
}
