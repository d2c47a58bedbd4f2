import type { Database } from 'lmdb';
import { fromFrame, toFrame } from './frame.ts';
import type { Writer } from './writer.ts';

interface Pending {
  /** Undefined if the entry is removed. */
  readonly text: string | undefined;
}

/**
 * Texts by key. A text can be read as soon as it is written. A write resolves when it survives this process. The writes of
 * one turn of the event loop are stored together or not at all.
 */
export class Table {
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

  /** @throws StoreWriteFailed (rejects), for example if the disk is full. */
  write(key: string, text: string): Promise<void> {
    return this.#stored(key, { text }, () => this.#database.putSync(key, toFrame(key, text)));
  }

  /** @throws StoreWriteFailed (rejects). */
  remove(key: string): Promise<void> {
    return this.#stored(key, { text: undefined }, () => void this.#database.removeSync(key));
  }

  /** The keys of all stored entries, without their texts. */
  keys(): Iterable<string> {
    return this.#database.getKeys();
  }

  /** The stored entries from one key up to another, without those that are being written. */
  *range(options: {
    readonly start?: string;
    readonly end?: string;
    readonly reverse?: boolean;
    readonly limit?: number;
  }): Generator<readonly [key: string, text: string]> {
    for (const { key, value } of this.#database.getRange(options)) {
      const text = this.#checked(key, value);
      if (text !== undefined) yield [key, text];
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

/** LMDB accepts keys up to 1978 bytes. Session and task ids are short. */
export function keyOf(id: string): string {
  return encodeURIComponent(id);
}
