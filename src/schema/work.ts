/**
 * The steps that one check may take, and that reading one schema may take. A step takes about 20 ns and at most 40 ns,
 * so a check takes less than 250 ms.
 */
export const MAX_STEPS = 5_000_000;
/** Schemas and values one within the other: deeper ones would fill the stack. */
const MAX_DEPTH = 500;

/**
 * The bound on work was reached, so nothing is known of the value. The message continues the name of what was checked.
 */
export class TooMuchWork extends Error {}

/**
 * Bounds synchronous work. Time is not measured, so the same value always gives the same result (2026-07-28, basic:
 * Composition-Keyword Resource Use).
 */
export class Work {
  readonly #steps: number;
  #left: number;
  #depth = 0;

  constructor(steps = MAX_STEPS) {
    this.#steps = steps;
    this.#left = steps;
  }

  /** How many steps were taken. */
  get taken(): number {
    return this.#steps - this.#left;
  }

  /** @throws TooMuchWork if that many steps are not left. */
  take(steps: number): void {
    if ((this.#left -= steps) < 0) {
      throw new TooMuchWork(`is too large to check (more than ${this.#steps.toLocaleString('en')} steps)`);
    }
  }

  /** Hashing or comparing a text. */
  read(length: number): void {
    this.take(2 + (length >>> 3));
  }

  /** @throws TooMuchWork if it goes too deep. */
  enter(): void {
    if ((this.#depth += 1) > MAX_DEPTH) {
      throw new TooMuchWork(`is too deep to check (more than ${MAX_DEPTH} schemas within one another)`);
    }
  }

  leave(): void {
    this.#depth -= 1;
  }
}
