import type { OpenConnection } from './open-connections.ts';

/**
 * Replaces `open-connections.ts` in workers. There, a timer ends with the request that started it, and a request for
 * which nothing is due is taken for one that hangs. So each stream has a timer of its own.
 */
export class OpenConnections {
  readonly #timers = new Map<OpenConnection, ReturnType<typeof setInterval> | undefined>();
  readonly #interval: number;
  readonly stallTimeout: number;

  constructor(interval: number, stallTimeout: number) {
    this.#interval = interval;
    this.stallTimeout = stallTimeout;
  }

  get size(): number {
    return this.#timers.size;
  }

  add(connection: OpenConnection): void {
    const timer = this.#interval > 0 ? setInterval(() => connection.keepAlive(), this.#interval) : undefined;
    this.#timers.set(connection, timer);
  }

  delete(connection: OpenConnection): void {
    clearInterval(this.#timers.get(connection));
    this.#timers.delete(connection);
  }
}
