interface Entry<Value> {
  /** What was stored last. Undefined if nothing is stored. */
  stored: Value | undefined;
  writes: number;
}

/**
 * The entries of an index whose writes are in flight. An index changes before its store does, and writes may fail together,
 * so each of them does not know what is stored.
 */
export class Unconfirmed<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #restore: (id: string, stored: Value | undefined) => void;

  /** @param restore puts into the index what is stored. Called if the last of the writes in flight has failed. */
  constructor(restore: (id: string, stored: Value | undefined) => void) {
    this.#restore = restore;
  }

  /**
   * Writes an entry that the index already has.
   *
   * @param from what the index had before.
   * @param to what the index has now. Undefined if the entry is removed.
   * @throws what `write` throws (rejects).
   */
  async write(
    id: string,
    from: Value | undefined,
    to: Value | undefined,
    write: () => Promise<unknown>,
  ): Promise<void> {
    let entry = this.#entries.get(id);
    if (!entry) this.#entries.set(id, (entry = { stored: from, writes: 0 }));
    entry.writes += 1;
    try {
      await write();
      entry.stored = to;
    } catch (error) {
      if (entry.writes === 1) this.#restore(id, entry.stored);
      throw error;
    } finally {
      entry.writes -= 1;
      if (entry.writes === 0) this.#entries.delete(id);
    }
  }
}
