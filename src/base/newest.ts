/** A set that knows in constant time which of its members was added last. */
export class Newest<T> {
  readonly #all = new Set<T>();
  /** Oldest first. May hold members that were deleted. */
  #order: T[] = [];

  get size(): number {
    return this.#all.size;
  }

  get last(): T | undefined {
    return this.#order.at(-1);
  }

  values(): Iterable<T> {
    return this.#all.values();
  }

  /** Adds a value that is not in the set. */
  add(one: T): void {
    this.#all.add(one);
    this.#order.push(one);
  }

  /** @returns whether the value was in the set. */
  delete(one: T): boolean {
    if (!this.#all.delete(one)) return false;
    while (this.#order.length > 0 && !this.#all.has(this.#order.at(-1)!)) this.#order.pop();
    // If there is always a member left, this is the only place that shortens the list.
    if (this.#order.length > 2 * this.#all.size + 16) this.#order = [...this.#all];
    return true;
  }
}
