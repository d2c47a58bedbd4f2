import { inNextTurn } from './next-turn.ts';

/** How many functions run in one turn of the event loop. */
const PER_TURN = 10;

/** Runs a few functions in each turn of the event loop, in order. Further ones wait for the next turns. */
export class FewPerTurn {
  readonly #waiting: (() => void)[] = [];
  /** How many have run in this turn. */
  #ran = 0;

  run(work: () => void): void {
    if (this.#ran >= PER_TURN) return void this.#waiting.push(work);
    if (this.#ran === 0) inNextTurn(() => this.#begin());
    this.#ran += 1;
    work();
  }

  /** A turn begins. */
  #begin(): void {
    this.#ran = 0;
    for (const work of this.#waiting.splice(0, PER_TURN)) this.run(work);
  }
}
