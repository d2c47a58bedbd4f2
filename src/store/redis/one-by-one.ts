/** What a change returns if another process was faster. */
export const AGAIN = Symbol('again');

/** How often a change is made again because another process was faster. */
const MAX_ATTEMPTS = 100;

/** Runs work one after the other for each key, in the order of the calls. */
export class OneByOne {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @returns the outcome of this work. What came before may have failed. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const done = before ? before.then(work, work) : work();
    this.#last.set(key, done);
    const forget = (): void => {
      if (this.#last.get(key) === done) this.#last.delete(key);
    };
    done.then(forget, forget);
    return done;
  }

  /**
   * Makes a change, and makes it again as long as other processes are faster.
   *
   * @param what is changed, for the error.
   * @throws Error if others are always faster.
   */
  change<T>(key: string, what: string, attempt: () => Promise<T | typeof AGAIN>): Promise<T> {
    return this.run(key, async () => {
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
        const changed = await attempt();
        if (changed !== AGAIN) return changed;
      }
      throw new Error(`Other processes keep changing the ${what}`);
    });
  }
}
