/** How often a limit is looked at while it lasts. */
const LOOKS = 10;

interface Entry {
  /** The look after which the time is over. */
  readonly last: number;
  /** Undefined when the work is done. */
  expire: (() => void) | undefined;
}

/**
 * Gives much work the same time limit. One timer looks at all of it, because a timer for each costs more than the work
 * itself. The time is counted in looks, and is over up to a tenth later.
 */
export class TimeLimit {
  readonly #limit: number;
  /** What began first is first. */
  readonly #entries: Entry[] = [];
  /** How many entries at the beginning are over. */
  #over = 0;
  #looks = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param limit milliseconds. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Settles like the work, or rejects when the time is over. This ends only the wait: the work continues, and its later
   * failure is ignored.
   *
   * @throws the error of the work, or that of `timeoutError`.
   */
  within<T>(work: Promise<T>, timeoutError: () => Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const expire = (): void => reject(timeoutError());
      const entry: Entry = { last: this.#looks + LOOKS, expire };
      this.#entries.push(entry);
      // What the work waits for keeps the process alive.
      this.#timer ??= setInterval(() => this.#look(), this.#limit / LOOKS).unref?.();
      work.then(
        (value) => {
          this.#end(entry);
          resolve(value);
        },
        (error: Error) => {
          this.#end(entry);
          reject(error);
        },
      );
    });
  }

  #end(entry: Entry): void {
    entry.expire = undefined;
    while (this.#over < this.#entries.length && this.#entries[this.#over]!.expire === undefined) this.#over += 1;
    // Usually all are done soon.
    if (this.#over < this.#entries.length && this.#over < 1000) return;
    this.#entries.splice(0, this.#over);
    this.#over = 0;
  }

  #look(): void {
    this.#looks += 1;
    for (const entry of this.#entries.slice(this.#over)) {
      if (entry.last >= this.#looks) break;
      const { expire } = entry;
      this.#end(entry);
      expire?.();
    }
    if (this.#entries.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
