import { define } from '../../base/define.ts';
import { shortText } from '../../base/short-text.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';

/** The mistakes in a value. Keeps only the last one: if the value is useless, this is the reason. */
export class Mistakes {
  last: string | undefined;
  readonly #path: (string | number)[] = [];

  /** @returns undefined, the valid part of a value that has none. */
  add(what: string): undefined {
    const place = this.#path.map((step) => shortText(String(step))).join('.');
    this.last = place === '' ? what : `${place} ${what}`;
  }

  /** The valid part of a value at a place within the current one. */
  within(step: string | number, shape: Shape, value: unknown): unknown {
    this.#path.push(step);
    const valid = shape(value, this);
    this.#path.pop();
    return valid;
  }
}

/**
 * Returns the valid part of a value: without optional members, and items of lists, that are malformed. The same value, if it has no
 * mistake. Undefined if it has no valid part. Never changes the value in place. Takes time in proportion to the value's size.
 */
export type Shape = (value: unknown, mistakes: Mistakes) => unknown;

/** A value that is valid or not. */
export function simple(expected: string, isValid: (value: unknown) => boolean): Shape {
  return (value, mistakes) => (isValid(value) ? value : mistakes.add(`must be ${expected}`));
}

/** One of some strings. */
export function oneOf(...texts: readonly string[]): Shape {
  return simple(texts.map((text) => JSON.stringify(text)).join(' or '), (value) => texts.includes(value as string));
}

/** An object with known members, and any others. */
export function record(members: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  const known = Object.entries(members);
  return (value, mistakes) => {
    if (!isObject(value)) return mistakes.add('must be an object');
    const changed = new Map<string, unknown>();
    for (const [name, shape] of known) {
      const isRequired = required.includes(name);
      const member: unknown = value[name];
      if (member === undefined && !isRequired) continue;
      const kept = mistakes.within(name, member === undefined ? missing : shape, member);
      if (kept === undefined && isRequired) return undefined;
      if (kept !== member) changed.set(name, kept);
    }
    return withChanges(value, changed);
  };
}

const missing: Shape = (_, mistakes) => mistakes.add('is missing');

/** An object whose members all have the same shape. */
export function dictionary(shape: Shape): Shape {
  return (value, mistakes) => {
    if (!isObject(value)) return mistakes.add('must be an object');
    const changed = new Map<string, unknown>();
    for (const name of Object.keys(value)) {
      const kept = mistakes.within(name, shape, value[name]);
      if (kept !== value[name]) changed.set(name, kept);
    }
    return withChanges(value, changed);
  };
}

/** An object with other values of some members, or without them. One copy for all, because an object may have many members. */
export function withChanges(object: JsonObject, changed: ReadonlyMap<string, unknown>): JsonObject {
  if (changed.size === 0) return object;
  const copy: JsonObject = {};
  for (const name of Object.keys(object)) {
    const value: unknown = changed.has(name) ? changed.get(name) : object[name];
    if (value === undefined) continue;
    if (name === '__proto__') define(copy, name, value);
    else copy[name] = value;
  }
  return copy;
}

/** A list whose items all have the same shape. */
export function listOf(shape: Shape): Shape {
  return (value, mistakes) => {
    if (!Array.isArray(value)) return mistakes.add('must be a list');
    const valid = value.map((item: unknown, index) => mistakes.within(index, shape, item));
    if (valid.every((item, index) => item === value[index])) return value;
    return valid.filter((item) => item !== undefined);
  };
}
