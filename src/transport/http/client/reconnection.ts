/** When a stream that broke off is given up. */
export interface ReconnectionOptions {
  /** How many attempts in a row may fail. Default 8. */
  readonly maxAttempts?: number | undefined;
  /** How long they may take together. Milliseconds, default 2 minutes. A server that asks to wait for longer is not waited for. */
  readonly maxTime?: number | undefined;
}

/**
 * What the first attempt waits where the server names no time, in milliseconds; those after it wait longer. Connections
 * begin at least so far apart, whatever time the server names.
 */
const FIRST_DELAY = 100;
const MAX_DELAY = 30_000;
/**
 * A server that has nothing to say is asked as often as it wants where it names at least this much, in milliseconds; where
 * it names less, after so many attempts about as often as that.
 */
const POLLED = 1000;
const ATTEMPTS_TO_POLLED = 3;

/** When to connect to a stream again, and when to give it up. Time is given in, in milliseconds. */
export class Reconnection {
  /** How long the server asks to wait (2025-11-25, transports: Sending Messages, 6), in milliseconds. */
  retry: number | undefined;
  readonly #maxAttempts: number;
  readonly #maxTime: number;
  #attempts = 0;
  #since: number | undefined;

  constructor({ maxAttempts = 8, maxTime = 120_000 }: ReconnectionOptions = {}) {
    this.#maxAttempts = maxAttempts;
    this.#maxTime = maxTime;
  }

  /** How often a connection was tried since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Something has come: attempts and time are counted anew. */
  progress(): void {
    this.#attempts = 0;
    this.#since = undefined;
  }

  /**
   * The server has the stream, and had nothing to say. It may want to be asked again and again (2025-11-25, transports:
   * Sending Messages, 6), as often as it says, but for about once a second in the long run; where it does not say, ever more
   * rarely, but without an end.
   */
  idle(): void {
    this.#since = undefined;
    const named = this.retry === undefined ? Infinity : this.retry < POLLED ? ATTEMPTS_TO_POLLED : 0;
    this.#attempts = Math.max(0, Math.min(this.#attempts, named, this.#maxAttempts - 1));
  }

  /**
   * How long to wait before the next attempt, or undefined where there is to be none. Never less than `retry`. A server that
   * closes each connection at once and asks for the next at once gets ten a second.
   *
   * @param began when the connection began that has ended.
   */
  next(now: number, began = now): number | undefined {
    this.#since ??= now;
    const growing = Math.min(FIRST_DELAY * 2 ** this.#attempts, MAX_DELAY);
    const polled = this.retry !== undefined && this.#attempts === 0;
    const least = Math.max(this.retry ?? 0, polled ? began + FIRST_DELAY - now : growing);
    // Timers may fire a little early.
    const delay = Math.ceil(least * (1 + Math.random() * (this.#attempts > 0 ? 0.5 : 0.1))) + 1;
    if (this.#attempts >= this.#maxAttempts || now - this.#since + least > this.#maxTime) return undefined;
    this.#attempts += 1;
    return delay;
  }
}
