import { writeSync } from 'node:fs';
import type { Database } from 'lmdb';
import { TABLES, type TableName } from '../tables/table.ts';
import { isEntry } from '../tables/is-entry.ts';
import { DAMAGED, fromFrame } from './frame.ts';
import { openDatabase } from './open-database.ts';

/**
 * A process of its own that reads a whole file, because LMDB may crash on a damaged one.
 *
 * - `check-file <file>` exits with 0 if everything can be read, and with 3 otherwise.
 * - `check-file <file> <database> forward|backward` writes what can be read to stdout. For each entry: the bytes of the key
 *   and of the text as 32-bit numbers, the key, the text.
 */

const [, , file = '', name, direction] = process.argv;
// Without the package, this ends with another code.
await import('lmdb');
const root = await openDatabase(file, true).catch(() => process.exit(DAMAGED));
try {
  if (name === undefined) check();
  else copy(name as TableName, direction === 'backward');
} catch {
  process.exit(DAMAGED);
}

function databaseOf(which: TableName): Database<Buffer, string> {
  return root.openDB<Buffer, string>(which, { encoding: 'binary' });
}

function check(): void {
  const names = [...root.getKeys()].toSorted();
  // A store that has never been written is empty.
  if (names.length === 0) return;
  if (names.join() !== [...TABLES].toSorted().join()) process.exit(DAMAGED);
  for (const each of TABLES) {
    const database = databaseOf(each);
    let count = 0;
    let last: string | undefined;
    for (const { key, value } of database.getRange({ snapshot: true })) {
      if (typeof key !== 'string' || (last !== undefined && !(key > last))) process.exit(DAMAGED);
      if (textOf(each, key, value) === undefined) process.exit(DAMAGED);
      last = key;
      count += 1;
    }
    const { entryCount } = database.getStats() as { entryCount: number };
    if (count !== entryCount) process.exit(DAMAGED);
  }
}

function copy(which: TableName, reverse: boolean): void {
  for (const { key, value } of databaseOf(which).getRange({ reverse, snapshot: true })) {
    const text = typeof key === 'string' ? textOf(which, key, value) : undefined;
    if (text === undefined) continue;
    const [keyBytes, textBytes] = [Buffer.from(key), Buffer.from(text)];
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32LE(keyBytes.length);
    lengths.writeUInt32LE(textBytes.length, 4);
    write(Buffer.concat([lengths, keyBytes, textBytes]));
  }
}

/** Undefined if the entry is damaged, or something else has written it. */
function textOf(table: TableName, key: string, frame: Buffer): string | undefined {
  const text = fromFrame(key, frame);
  return text !== undefined && isEntry(table, key, text) ? text : undefined;
}

/** At once, because the next entry may end this process. */
function write(bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}
