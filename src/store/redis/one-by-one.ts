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
}
