/**
 * Finds the oldest key of a map or set again and again, in constant time on average. A new iterator first has to skip
 * what was deleted, so one iterator serves a whole turn of the event loop. It is not kept longer, because an iterator
 * keeps every table that the map has used since: a map that changes without limit would take memory without limit.
 */
export class Oldest<Key> {
  readonly #entries: { keys(): Iterator<Key, undefined> };
  #keys: Iterator<Key, undefined> | undefined;

  /** @param entries the map. Whoever takes a key must delete it. */
  constructor(entries: { keys(): Iterator<Key, undefined> }) {
    this.#entries = entries;
  }

  /** The oldest key, to be deleted. Undefined if the map is empty. */
  take(): Key | undefined {
    if (!this.#keys) queueMicrotask(() => (this.#keys = undefined));
    const next = this.#keys?.next();
    if (next && !next.done) return next.value;
    this.#keys = this.#entries.keys();
    return this.#keys.next().value;
  }
}
