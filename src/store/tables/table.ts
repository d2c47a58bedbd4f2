/** The tables of a store. */
export const TABLES = ['sessions', 'settings', 'places', 'events', 'streams', 'tasks'] as const;
export type TableName = (typeof TABLES)[number];

/** Which entries are read: those with keys from `start` up to `end`, without `end` itself. */
export interface Range {
  readonly start?: string;
  readonly end?: string;
  /** Whether the last key comes first. */
  readonly reverse?: boolean;
  readonly limit?: number;
}

/**
 * Texts by key, in the order of the keys, which are ASCII. A text can be read as soon as it is written. A write resolves
 * when it survives this process. If the process ends, the writes of one turn of the event loop are stored together or not at all.
 */
export interface Table {
  /** The longest text, in bytes of UTF-8. */
  readonly maxTextBytes: number;
  read(key: string): string | undefined;
  /** @throws Error (rejects) if there is no room. RangeError (rejects) if the key is too long. */
  write(key: string, text: string): Promise<void>;
  remove(key: string): Promise<void>;
  keys(range?: Range): Iterable<string>;
  /** The entries, maybe without those that are being written. */
  range(range: Range): Iterable<readonly [key: string, text: string]>;
}

/** How many digits the number of an event has in its key. */
export const NUMBER_DIGITS = 12;
/** The longest key in bytes. It is that of LMDB. */
const MAX_KEY = 1978;
/** The rest of a key is for the number of an event, or the id of a stream. */
const MAX_ID = 1900;

/** @throws RangeError if the id is too long. */
export function keyOf(id: string): string {
  const key = encodeURIComponent(id);
  checkLength(key.length, MAX_ID);
  return key;
}

/** @throws RangeError if the key is too long. */
export function checkKey(key: string): void {
  checkLength(Buffer.byteLength(key), MAX_KEY);
}

function checkLength(bytes: number, most: number): void {
  if (bytes > most) throw new RangeError(`An id of ${bytes} bytes is too long for the store, which takes ${most}`);
}
