import { isObject } from '../../jsonrpc/message.ts';
import { keyOf, NUMBER_DIGITS, type TableName } from './table.ts';

const NUMBER = new RegExp(`^\\d{${NUMBER_DIGITS}}$`);
/** An event up to its message: the stream, and four numbers. */
const EVENT = /^\["(?:[^"\\]|\\.)*"(?:,\d+(?:\.\d+)?){4}[,\]]/;

/** Whether a table can have this text. Each throws if its JSON is malformed. */
const IS_TEXT: Readonly<Record<TableName, (text: string) => boolean>> = {
  sessions: (text) => isObject(JSON.parse(text)),
  settings: (text) => isObject(JSON.parse(text)),
  places: (text) => isPlace(JSON.parse(text)),
  events: (text) => EVENT.test(text),
  streams: (text) => isStream(JSON.parse(text)),
  tasks: (text) => isTask(JSON.parse(text.slice(0, text.indexOf('\n')))),
};

/**
 * Whether Everwire can have written an entry. Another one could keep a reader in a loop, or fail at the start.
 *
 * Looks at what a store needs to find and count its entries, not at records, messages and results.
 */
export function isEntry(name: TableName, key: string, text: string): boolean {
  try {
    return isKey(name, key) && IS_TEXT[name](text);
  } catch {
    // The key or the JSON is malformed.
    return false;
  }
}

function isKey(name: TableName, key: string): boolean {
  if (name !== 'events' && name !== 'streams') return isId(key);
  const slash = key.indexOf('/');
  return slash >= 0 && isId(key.slice(0, slash)) && (name === 'streams' || NUMBER.test(key.slice(slash + 1)));
}

function isId(key: string): boolean {
  return keyOf(decodeURIComponent(key)) === key;
}

function isPlace(place: unknown): boolean {
  return (
    Array.isArray(place) && place.slice(0, 3).every(isNumber) && place.length === 4 && typeof place[3] === 'string'
  );
}

function isStream(stream: unknown): boolean {
  if (!isObject(stream)) return false;
  const { first, last = 0, ended, requests = [] } = stream;
  return isEventNumber(first) && isEventNumber(last) && typeof ended === 'boolean' && Array.isArray(requests);
}

function isTask(task: unknown): boolean {
  if (!isObject(task)) return false;
  const { runner, bytes, terminal, until } = task;
  return (
    typeof runner === 'string' &&
    isNumber(bytes) &&
    typeof terminal === 'boolean' &&
    (until === null || isNumber(until))
  );
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

function isEventNumber(value: unknown): boolean {
  return Number.isInteger(value) && NUMBER.test(String(value).padStart(NUMBER_DIGITS, '0'));
}
