import { FewPerTurn } from '../../../base/few-per-turn.ts';
import type { Timer } from '../../../base/timer.ts';

/**
 * Begins the stream of a reply that is not complete after the grace time. The timer starts at the end of the turn of the
 * event loop: most replies are complete by then, and need none. Calls that came together would begin thousands of streams in
 * one turn, so only a few do.
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
    if (!this.#over) this.#timer = setTimeout(() => begins.run(() => this.#expire()), this.#limit);
  }

  end(): void {
    this.#over = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #expire(): void {
    if (!this.#over) this.#onexpired();
  }
}

const begins = new FewPerTurn(50);

let fresh: Grace[] = [];

function startAll(): void {
  const started = fresh;
  fresh = [];
  for (const grace of started) grace.start();
}
