import { isObject } from '../jsonrpc/message.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';

/** A place where two values differ. */
export interface ValueDifference {
  /** JSON Pointer (RFC 6901). An entry of a list has its name in place of its index. Empty for the whole value. */
  readonly pointer: string;
  /** What the first and the second value have there. Undefined: nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

/** The places where two values differ. @param onfound called with each. */
export function differ(before: unknown, after: unknown, onfound: (found: ValueDifference) => void, pointer = ''): void {
  const names = commonMembers(before, after);
  if (!names) {
    if (before === undefined || after === undefined ? before !== after : textOf(before) !== textOf(after))
      onfound({ pointer, before: plain(before), after: plain(after) });
    return;
  }
  for (const name of names) differ(member(before, name), member(after, name), onfound, `${pointer}/${escaped(name)}`);
}

/** The names of all members of two objects, or the indexes of two lists. Undefined for other values. */
function commonMembers(before: unknown, after: unknown): Set<string> | undefined {
  for (const kind of [isMap, Array.isArray, isObject])
    if (kind(before) && kind(after)) return new Set([...namesOf(before), ...namesOf(after)]);
  return undefined;
}

function isMap(value: unknown): value is Map<string, unknown> {
  return value instanceof Map;
}

function namesOf(value: object): Iterable<string> {
  return isMap(value) ? value.keys() : Object.keys(value);
}

function member(value: unknown, name: string): unknown {
  if (isMap(value)) return value.get(name);
  return Object.hasOwn(value as object, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function textOf(value: unknown): string {
  return canonicalJson(plain(value));
}

/** A list as it was on the wire. */
function plain(value: unknown): unknown {
  return isMap(value) ? [...value.values()] : value;
}
