/**
 * Finds the oldest key of a map or set again and again, in constant time on average. A new iterator would first have to
 * skip everything that was deleted, so that a full cache would take quadratic time.
 */
export class Oldest<Key> {
  readonly #entries: { keys(): Iterator<Key, undefined> };
  #keys: Iterator<Key, undefined>;

  /** @param entries the map. Whoever takes a key must delete it. */
  constructor(entries: { keys(): Iterator<Key, undefined> }) {
    this.#entries = entries;
    this.#keys = entries.keys();
  }

  /** The oldest key, to be deleted. Undefined if the map is empty. */
  take(): Key | undefined {
    const next = this.#keys.next();
    if (!next.done) return next.value;
    this.#keys = this.#entries.keys();
    return this.#keys.next().value;
  }
}
