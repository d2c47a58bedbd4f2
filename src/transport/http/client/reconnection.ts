/** When to stop reconnecting a stream. */
export interface ReconnectionOptions {
  /** How many attempts in a row may fail. Default 8. */
  readonly maxAttempts?: number | undefined;
  /**
   * The longest time that the attempts in a row may take. Milliseconds, default 2 minutes. If a server asks to wait
   * longer, the stream fails.
   */
  readonly maxTime?: number | undefined;
}

/**
 * The delay before the first attempt if the server names none, in milliseconds. Later delays are longer. Connections
 * always begin at least this far apart, whatever the server asks.
 */
const FIRST_DELAY = 100;
const MAX_DELAY = 30_000;
/**
 * If a server asks for at least this delay, in milliseconds, an idle stream is polled with the server's delay. With a
 * shorter delay, polling slows down to about this delay after some attempts.
 */
const POLLED = 1000;
const ATTEMPTS_TO_POLLED = 3;

/** Decides when to reconnect a stream, and when to stop. The caller passes the time in, in milliseconds. */
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

  /** The number of attempts since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Something arrived. Resets attempts and time. */
  progress(): void {
    this.#attempts = 0;
    this.#since = undefined;
  }

  /**
   * The server still has the stream, but sent nothing. It may want to be polled (2025-11-25, transports: Sending
   * Messages, 6). Polling follows the server's delay, but in the long run at most about once a second. If the server
   * names no delay, polling slows down but never stops.
   */
  idle(): void {
    this.#since = undefined;
    const named = this.retry === undefined ? Infinity : this.retry < POLLED ? ATTEMPTS_TO_POLLED : 0;
    this.#attempts = Math.max(0, Math.min(this.#attempts, named, this.#maxAttempts - 1));
  }

  /**
   * The delay before the next attempt, or undefined to stop. Never less than `retry`. A server that closes each
   * connection at once and asks for an immediate reconnect gets ten connections a second.
   *
   * @param began when the connection that has ended began.
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
