import { isRuleAction } from '../inspect/page-server/command-arguments.ts';
import type { SavedCall, SavedRule } from '../inspect/page-server/saved-api.ts';
import { isSavedName, MAX_SAVED_NAME, SAVED_METHODS } from '../inspect/page-server/saved-name.ts';
import { hasMoreKeysAndValues, isDeeper } from '../jsonrpc/bounds.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** What is saved of each server, by its name. */
export interface SavedFile {
  readonly calls: ReadonlyMap<string, readonly SavedCall[]>;
  readonly rules: ReadonlyMap<string, readonly SavedRule[]>;
}

const MAX_DEPTH = 100;
const MAX_KEYS_AND_VALUES = 100_000;
const VERSION = 1;

/**
 * Reads a file of saved calls and rules. What it does not know it refuses, because it would be lost when the file is written.
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
  const { version, servers, rules = {} } = members(value, 'it', ['version', 'servers', 'rules']);
  if (version !== VERSION) throw new Error(`its version is not ${VERSION}`);
  return { calls: byServer(servers, 'servers', savedCalls), rules: byServer(rules, 'rules', savedRules) };
}

function byServer<Value>(
  value: unknown,
  name: string,
  parse: (list: unknown, where: string) => Value,
): ReadonlyMap<string, Value> {
  if (!isObject(value)) throw new Error(`${JSON.stringify(name)} must be an object`);
  return new Map(Object.entries(value).map(([server, list]) => [server, parse(list, JSON.stringify(server))]));
}

function savedCalls(list: unknown, where: string): readonly SavedCall[] {
  if (!Array.isArray(list)) throw new Error(`${where} must be an array of calls`);
  const parsed = list.map((call, at) => savedCall(call, `call ${at + 1} of ${where}`));
  const names = new Set<string>();
  for (const { name } of parsed) {
    if (names.has(name)) throw new Error(`${where} has two calls ${JSON.stringify(name)}`);
    names.add(name);
  }
  return parsed;
}

function savedRules(list: unknown, where: string): readonly SavedRule[] {
  if (!Array.isArray(list)) throw new Error(`${where} must be an array of rules`);
  return list.map((rule, at) => savedRule(rule, `rule ${at + 1} of ${where}`));
}

/** The file as text: the same content always gives the same text. */
export function savedText({ calls, rules }: SavedFile): string {
  const servers = sorted(calls).map(([server, list]) => [server, list.toSorted((a, b) => compare(a.name, b.name))]);
  // The first rule that matches decides, so their order stays.
  const ruled = sorted(rules);
  const file = {
    version: VERSION,
    servers: Object.fromEntries(servers) as object,
    ...(ruled.length > 0 && { rules: Object.fromEntries(ruled) }),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** The lists that are not empty, by server. */
function sorted<Value>(lists: ReadonlyMap<string, readonly Value[]>): [string, readonly Value[]][] {
  return [...lists].filter(([, list]) => list.length > 0).toSorted(([a], [b]) => compare(a, b));
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

function savedRule(value: unknown, where: string): SavedRule {
  const { filter, action, enabled, nth } = members(value, where, ['filter', 'action', 'enabled', 'nth']);
  if (typeof filter !== 'string') throw new Error(`the filter of ${where} must be a string`);
  if (!isRuleAction(action)) throw new Error(`the action of ${where} must be an action of a rule`);
  if (typeof enabled !== 'boolean') throw new Error(`"enabled" of ${where} must be true or false`);
  if (nth !== undefined && !(Number.isSafeInteger(nth) && nth > 0))
    throw new Error(`"nth" of ${where} must be a whole number from 1`);
  return { filter, action, enabled, nth: nth as number | undefined };
}

/** The members of an object that has no others. */
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
