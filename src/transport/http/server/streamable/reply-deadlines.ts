/** Something with a deadline, unless it is done before. */
export interface Waiting {
  readonly due: number;
  /** Its neighbours in the list. Undefined if it is in none. */
  before: Waiting | undefined;
  after: Waiting | undefined;
  expire(): void;
}

/**
 * A list of deadlines that all have the same length, so the oldest entry is due first. One timer serves all entries.
 * Adding and removing costs only a few pointer writes, because every reply does both.
 */
export class ReplyDeadlines {
  /** Milliseconds. */
  readonly #span: number;
  readonly #head: Waiting = { due: 0, before: undefined, after: undefined, expire: () => {} };
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(span: number) {
    this.#span = span;
    this.#head.before = this.#head.after = this.#head;
  }

  /** When an entry that is added now is due. Milliseconds on the clock of `performance.now`. */
  due(): number {
    return performance.now() + this.#span;
  }

  join(waiting: Waiting): void {
    const last = this.#head.before!;
    waiting.before = last;
    waiting.after = this.#head;
    last.after = this.#head.before = waiting;
    this.#timer ??= setTimeout(this.#expire, this.#span);
  }

  leave(waiting: Waiting): void {
    if (!waiting.after) return;
    waiting.before!.after = waiting.after;
    waiting.after.before = waiting.before;
    waiting.before = waiting.after = undefined;
  }

  readonly #expire = (): void => {
    this.#timer = undefined;
    // A timer may fire up to a millisecond early.
    const now = performance.now() + 1;
    let first = this.#head.after!;
    while (first !== this.#head && first.due <= now) {
      this.leave(first);
      first.expire();
      first = this.#head.after!;
    }
    if (first !== this.#head) this.#timer = setTimeout(this.#expire, Math.max(1, first.due - now));
  };
}
