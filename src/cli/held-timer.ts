import { TimeoutError } from '../client/errors.ts';

/** How long a person may take to log in, in milliseconds. */
export const LOGIN_TIMEOUT = 300_000;

/** A limit of time that does not count the time for which it is held. */
export class HeldTimer {
  readonly #limit: number;
  readonly #message: string;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param limit in milliseconds. */
  constructor(limit: number, message: string) {
    this.#limit = limit;
    this.#message = message;
    this.#start();
  }

  /** Fires with a `TimeoutError` when the time is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stands still while something is done that takes a person; then begins anew. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#timer);
    try {
      return await work();
    } finally {
      this.#start();
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#start = () => {};
  }

  #start = (): void => {
    this.#timer = setTimeout(() => this.#controller.abort(new TimeoutError(this.#message, this.#limit)), this.#limit);
  };
}
