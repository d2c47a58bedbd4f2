import { waitFor } from '../../util/wait.ts';

interface Flight {
  readonly done: Promise<void>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Runs one thing at a time, for all who want it. Who stops waiting does not stop it for the others; it is stopped where
 * nobody waits any more.
 */
export class SingleFlight {
  #flight: Flight | undefined;

  /**
   * Waits for what is running, or starts it.
   *
   * @returns whether it was started by this call.
   * @throws what it throws, for all who wait; the signal's reason.
   */
  async run(start: (signal: AbortSignal) => Promise<void>, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    const mine = this.#flight === undefined;
    const flight = (this.#flight ??= this.#begin(start));
    flight.waiting += 1;
    try {
      await waitFor(flight.done, { signal });
      return mine;
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0 && this.#flight === flight) {
        this.#flight = undefined;
        flight.controller.abort(signal?.reason);
      }
    }
  }

  #begin(start: (signal: AbortSignal) => Promise<void>): Flight {
    const controller = new AbortController();
    const done = start(controller.signal).finally(() => {
      if (this.#flight === flight) this.#flight = undefined;
    });
    // Where nobody waits any more, nobody hears of it.
    done.catch(() => {});
    const flight: Flight = { done, controller, waiting: 0 };
    return flight;
  }
}
