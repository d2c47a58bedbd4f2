import { inThisContext } from './in-this-context.ts';
import { inNextTurn } from './next-turn.ts';

/** Runs a few functions in each turn of the event loop, in order. Further ones wait for the next turns. */
export class FewPerTurn {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  /** How many have run in this turn. */
  #ran = 0;

  /** @param perTurn how many run in one turn. Default 10. */
  constructor(perTurn = 10) {
    this.#perTurn = perTurn;
  }

  run(work: () => void): void {
    if (this.#ran >= this.#perTurn) return void this.#waiting.push(inThisContext(work));
    this.#count();
    work();
  }

  #count(): void {
    if (this.#ran === 0) inNextTurn(() => this.#begin());
    this.#ran += 1;
  }

  /** A turn begins. */
  #begin(): void {
    this.#ran = 0;
    for (const goOn of this.#waiting.splice(0, this.#perTurn)) {
      this.#count();
      goOn();
    }
  }
}
