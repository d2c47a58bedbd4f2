import { inTurns } from '../../../base/in-turns.ts';

/** An event stream that is open. */
export interface OpenConnection {
  /** Writes something that clients ignore. */
  keepAlive(): void;
}

/** The open event streams of a handler. One timer keeps them alive. There may be thousands of them. */
export class OpenConnections {
  readonly #open = new Set<OpenConnection>();
  readonly #interval: number;
  readonly stallTimeout: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * @param interval milliseconds between keep-alive comments; 0 for none.
   * @param stallTimeout milliseconds after which a client that reads nothing is disconnected.
   */
  constructor(interval: number, stallTimeout: number) {
    this.#interval = interval;
    this.stallTimeout = stallTimeout;
  }

  get size(): number {
    return this.#open.size;
  }

  add(connection: OpenConnection): void {
    this.#open.add(connection);
    if (this.#timer === undefined && this.#interval > 0) {
      this.#timer = setInterval(() => void inTurns(this.#open, (each) => each.keepAlive()), this.#interval);
      this.#timer.unref?.();
    }
  }

  delete(connection: OpenConnection): void {
    this.#open.delete(connection);
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
