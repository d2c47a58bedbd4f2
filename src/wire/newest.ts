/** Things that come and go, and which of those that are there came last: in constant time, however many there are. */
export class Newest<T> {
  readonly #all = new Set<T>();
  /** In the order in which they came, and with some that are gone. */
  #order: T[] = [];

  get size(): number {
    return this.#all.size;
  }

  get last(): T | undefined {
    return this.#order.at(-1);
  }

  /** Something that was not there before. */
  add(one: T): void {
    this.#all.add(one);
    this.#order.push(one);
  }

  delete(one: T): void {
    if (!this.#all.delete(one)) return;
    while (this.#order.length > 0 && !this.#all.has(this.#order.at(-1)!)) this.#order.pop();
    // Where they overlap for ever, the last one is always there.
    if (this.#order.length > 2 * this.#all.size + 16) this.#order = [...this.#all];
  }
}
