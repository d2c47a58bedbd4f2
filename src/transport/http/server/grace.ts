import type { Timer } from '../../../base/timer.ts';

/**
 * Begins the stream of a reply that is not complete after the grace time. The timer starts at the end of the turn of the
 * event loop: most replies are complete by then, and need none.
 */
export class Grace {
  readonly #limit: number;
  readonly #onexpired: () => void;
  #timer: Timer;
  #over = false;

  /** @param limit in milliseconds. */
  constructor(limit: number, onexpired: () => void) {
    this.#limit = limit;
    this.#onexpired = onexpired;
    if (fresh.length === 0) setImmediate(startAll);
    fresh.push(this);
  }

  start(): void {
    if (!this.#over) this.#timer = setTimeout(this.#onexpired, this.#limit);
  }

  end(): void {
    this.#over = true;
    if (this.#timer) clearTimeout(this.#timer);
  }
}

let fresh: Grace[] = [];

function startAll(): void {
  const started = fresh;
  fresh = [];
  for (const grace of started) grace.start();
}
