import type { SavedCall } from '../inspect/page-server/saved-api.ts';
import { isSavedName, MAX_SAVED_NAME, SAVED_METHODS } from '../inspect/page-server/saved-name.ts';
import { hasMoreKeysAndValues, isDeeper } from '../jsonrpc/bounds.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** The saved calls of each server, by its name. */
export type SavedFile = ReadonlyMap<string, readonly SavedCall[]>;

const MAX_DEPTH = 100;
const MAX_KEYS_AND_VALUES = 100_000;
const VERSION = 1;

/**
 * Reads a file of saved calls. What it does not know it refuses, because it would be lost when the file is written.
 *
 * @throws Error that says what is wrong.
 */
export function parseSavedFile(text: string): SavedFile {
  if (isDeeper(text, MAX_DEPTH)) throw new Error(`it has more than ${MAX_DEPTH} levels`);
  if (hasMoreKeysAndValues(text, MAX_KEYS_AND_VALUES))
    throw new Error(`it has more than ${MAX_KEYS_AND_VALUES} keys and values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(`it is not JSON: ${(cause as Error).message}`, { cause });
  }
  const file = members(value, 'it', ['version', 'servers']);
  if (file['version'] !== VERSION) throw new Error(`its version is not ${VERSION}`);
  if (!isObject(file['servers'])) throw new Error('"servers" must be an object');
  return new Map(
    Object.entries(file['servers']).map(([server, calls]) => {
      const where = JSON.stringify(server);
      if (!Array.isArray(calls)) throw new Error(`${where} must be an array of calls`);
      const parsed = calls.map((call, at) => savedCall(call, `call ${at + 1} of ${where}`));
      const twice = parsed.find(({ name }, at) => parsed.findIndex((each) => each.name === name) < at);
      if (twice) throw new Error(`${where} has two calls ${JSON.stringify(twice.name)}`);
      return [server, parsed];
    }),
  );
}

/** The file as text: the same calls always give the same text. */
export function savedText(saved: SavedFile): string {
  const servers = [...saved]
    .filter(([, calls]) => calls.length > 0)
    .toSorted(([a], [b]) => compare(a, b))
    .map(([server, calls]) => [server, calls.toSorted((a, b) => compare(a.name, b.name))]);
  return `${JSON.stringify({ version: VERSION, servers: Object.fromEntries(servers) as object }, null, 2)}\n`;
}

function savedCall(value: unknown, where: string): SavedCall {
  const { name, method, params } = members(value, where, ['name', 'method', 'params']);
  if (typeof name !== 'string' || !isSavedName(name) || name !== name.trim())
    throw new Error(`the name of ${where} must be one line of 1 to ${MAX_SAVED_NAME} characters`);
  const known = SAVED_METHODS.find((each) => each === method);
  if (known === undefined) throw new Error(`the method of ${where} must be one of ${SAVED_METHODS.join(', ')}`);
  if (!isObject(params)) throw new Error(`the params of ${where} must be an object`);
  return { name, method: known, params };
}

/** The members of an object that has exactly these. */
function members(value: unknown, where: string, names: readonly string[]): JsonObject {
  if (!isObject(value)) throw new Error(`${where} must be an object`);
  const other = Object.keys(value).find((name) => !names.includes(name));
  if (other !== undefined) throw new Error(`${where} has an unknown member ${JSON.stringify(other)}`);
  return value;
}

/** By code units, because the order of a language may differ from machine to machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
