import { checkKey, type Range, type Table, type TableName } from '../tables/table.ts';
import type { DurableContext } from './durable-types.ts';

/**
 * The longest text. The platform takes 2 MB for a row, which also has the key and, before an event or a task, what the store
 * needs of it.
 */
const MAX_TEXT_BYTES = 2_000_000 - 8192;
/** Comes after all keys, which are printable ASCII. */
const LAST = '\u007f';

/**
 * A table in the database of a Durable Object. Reads and writes are synchronous there, and the writes of one turn are stored
 * together.
 */
export class SqlTable implements Table {
  readonly maxTextBytes = MAX_TEXT_BYTES;
  readonly #storage: DurableContext['storage'];
  readonly #name: TableName;
  readonly #onwrite: () => Promise<void>;

  /** @param onwrite called with each write. */
  constructor(storage: DurableContext['storage'], name: TableName, onwrite: () => Promise<void>) {
    this.#storage = storage;
    this.#name = name;
    this.#onwrite = onwrite;
  }

  /** Makes what all tables need. */
  static create({ sql }: DurableContext['storage']): void {
    const columns = 'name TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL';
    sql.exec(`CREATE TABLE IF NOT EXISTS everwire (${columns}, PRIMARY KEY (name, key)) WITHOUT ROWID`);
  }

  read(key: string): string | undefined {
    for (const { text } of this.#exec('SELECT text FROM everwire WHERE name = ? AND key = ?', key)) return String(text);
    return undefined;
  }

  async write(key: string, text: string): Promise<void> {
    checkKey(key);
    this.#exec('INSERT OR REPLACE INTO everwire (name, key, text) VALUES (?, ?, ?)', key, text);
    await Promise.all([this.#onwrite(), this.#storage.sync()]);
  }

  async remove(key: string): Promise<void> {
    this.#exec('DELETE FROM everwire WHERE name = ? AND key = ?', key);
    await this.#storage.sync();
  }

  *keys(range: Range = {}): Generator<string> {
    for (const { key } of this.#select('key', range)) yield String(key);
  }

  *range(range: Range): Generator<readonly [key: string, text: string]> {
    for (const { key, text } of this.#select('key, text', range)) yield [String(key), String(text)];
  }

  #select(columns: string, { start = '', end = LAST, reverse = false, limit = Infinity }: Range) {
    const order = `ORDER BY key ${reverse ? 'DESC' : 'ASC'} LIMIT ?`;
    const query = `SELECT ${columns} FROM everwire WHERE name = ? AND key >= ? AND key < ? ${order}`;
    // A negative limit is none.
    return this.#exec(query, start, end, limit === Infinity ? -1 : limit);
  }

  #exec(query: string, ...bindings: readonly (string | number)[]) {
    return this.#storage.sql.exec(query, this.#name, ...bindings);
  }
}
