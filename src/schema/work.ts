/**
 * The number of steps for one check, and for reading one schema. A step takes about 20 ns and at most 40 ns, so a check
 * takes less than 250 ms.
 */
export const MAX_STEPS = 5_000_000;
/** How deep schemas and values may be nested. Deeper ones would overflow the stack. */
const MAX_DEPTH = 500;

/** The limit was reached, so the result is unknown. The message continues the name of what was checked. */
export class TooMuchWork extends Error {}

/**
 * Limits synchronous work. It counts steps and not time, so the same value always gives the same result (2026-07-28,
 * basic: Composition-Keyword Resource Use).
 */
export class Work {
  readonly #steps: number;
  #left: number;
  #depth = 0;

  constructor(steps = MAX_STEPS) {
    this.#steps = steps;
    this.#left = steps;
  }

  /** The number of steps so far. */
  get taken(): number {
    return this.#steps - this.#left;
  }

  /** @throws TooMuchWork if fewer steps are left. */
  take(steps: number): void {
    if ((this.#left -= steps) < 0) {
      throw new TooMuchWork(`is too large to check (more than ${this.#steps.toLocaleString('en')} steps)`);
    }
  }

  /** Counts the steps for hashing or comparing a text. */
  read(length: number): void {
    this.take(2 + (length >>> 3));
  }

  /** @throws TooMuchWork if the nesting is too deep. */
  enter(): void {
    if ((this.#depth += 1) > MAX_DEPTH) {
      throw new TooMuchWork(`is too deep to check (more than ${MAX_DEPTH} nested schemas)`);
    }
  }

  leave(): void {
    this.#depth -= 1;
  }
}
