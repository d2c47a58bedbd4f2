import type { Database, RangeOptions } from 'lmdb';
import { checkKey, type Range, type Table } from '../tables/table.ts';
import { fromFrame, toFrame } from './frame.ts';
import type { Writer } from './writer.ts';

interface Pending {
  /** Undefined if the entry is removed. */
  readonly text: string | undefined;
}

/** A table in LMDB. */
export class LmdbTable implements Table {
  readonly maxTextBytes = Infinity;
  readonly #database: Database<Buffer, string>;
  readonly #pending = new Map<string, Pending>();
  readonly #writer: Writer;
  readonly #ondamage: (key: string) => void;

  /** @param ondamage called for an entry that was changed by someone else since it was written. */
  constructor(database: Database<Buffer, string>, writer: Writer, ondamage: (key: string) => void) {
    this.#database = database;
    this.#writer = writer;
    this.#ondamage = ondamage;
  }

  read(key: string): string | undefined {
    const pending = this.#pending.get(key);
    if (pending) return pending.text;
    const frame = this.#database.get(key);
    return frame && this.#checked(key, frame);
  }

  /** @throws StoreWriteFailed (rejects), for example if the disk is full. RangeError (rejects) if the key is too long. */
  async write(key: string, text: string): Promise<void> {
    // It would fail with all writes of this turn.
    checkKey(key);
    await this.#stored(key, { text }, () => this.#database.putSync(key, toFrame(key, text)));
  }

  /** @throws StoreWriteFailed (rejects). */
  remove(key: string): Promise<void> {
    return this.#stored(key, { text: undefined }, () => void this.#database.removeSync(key));
  }

  /** The keys of stored entries, also of damaged ones. */
  keys(range: Range = {}): Iterable<string> {
    return this.#database.getKeys(directed(range));
  }

  /** The stored entries from one key up to another, without those that are being written. */
  *range({ limit = Infinity, ...range }: Range): Generator<readonly [key: string, text: string]> {
    let count = 0;
    for (const { key, value } of this.#database.getRange(directed(range))) {
      const text = this.#checked(key, value);
      // A damaged entry does not count: the limit must not hide what comes after it.
      if (text === undefined) continue;
      yield [key, text];
      count += 1;
      if (count >= limit) return;
    }
  }

  #checked(key: string, frame: Buffer): string | undefined {
    const text = fromFrame(key, frame);
    if (text === undefined) this.#ondamage(key);
    return text;
  }

  async #stored(key: string, pending: Pending, write: () => void): Promise<void> {
    this.#pending.set(key, pending);
    try {
      await this.#writer.write(write);
    } finally {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    }
  }
}

/** LMDB begins a range where it is read first. */
function directed(range: Range): RangeOptions {
  const { start, end, reverse } = range;
  return reverse ? { ...range, start: end, end: start, exclusiveStart: true, inclusiveEnd: true } : range;
}
