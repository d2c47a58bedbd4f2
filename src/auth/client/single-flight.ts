import { waitFor } from '../../base/wait.ts';

interface Flight {
  readonly done: Promise<void>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Runs one task at a time, and all callers share its result. A caller that stops waiting does not stop the task for the
 * others. The task is aborted when no caller waits any more.
 */
export class SingleFlight {
  #flight: Flight | undefined;

  /**
   * Waits for the running task, or starts one.
   *
   * @returns whether this call started the task.
   * @throws the task's error, to all callers that wait; the signal's reason.
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
    // When no caller waits, nobody handles the rejection.
    done.catch(() => {});
    const flight: Flight = { done, controller, waiting: 0 };
    return flight;
  }
}
