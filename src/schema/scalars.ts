import { shortJson } from '../base/short-text.ts';
import { isObject, isStrings } from '../jsonrpc/message.ts';
import { keyOf } from './canonical.ts';
import { patternOf, isNumber, keysOf, type Build } from './keyword.ts';
import type { Run } from './run.ts';

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  number: isNumber,
  integer: (value) => Number.isInteger(value),
  array: Array.isArray,
  object: isObject,
};

export const type: Build = (keywordValue) => {
  const given: unknown = Array.isArray(keywordValue) ? keywordValue : [keywordValue];
  // Check this first: V8 takes minutes for a set of numbers that were chosen to have the same hash.
  if (!isStrings(given) || !given.every((name) => Object.hasOwn(TYPES, name))) {
    throw new TypeError(`type must be one of ${Object.keys(TYPES).join(', ')}`);
  }
  const names = [...new Set(given)];
  const tests = names.map((name) => TYPES[name]!);
  const message = `must be ${names.join(',')}`;
  return (value, run) => tests.some((test) => test(value)) || run.fail(message);
};

export const constant: Build = (keywordValue, { reader }) => {
  const wanted = keyOf(keywordValue, reader.work);
  const message = once(() => `must be ${shown(keywordValue)}`);
  return (value, run) => keyOf(value, run.work) === wanted || run.fail(message);
};

export const enumeration: Build = (keywordValue, { reader }) => {
  if (!Array.isArray(keywordValue)) throw new TypeError('enum must be a list');
  const wanted = new Set(keywordValue.map((one) => keyOf(one, reader.work)));
  const message = once(() => `must be one of ${shown(keywordValue)}`);
  return (value, run) => wanted.has(keyOf(value, run.work)) || run.fail(message);
};

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** JSON for a message, cut to 1000 characters. */
function shown(value: unknown): string {
  return shortJson(value, 1000);
}

export function bound(fits: (value: number, bound: number) => boolean, words: string): Build {
  return (keywordValue, { keyword }) => {
    if (!isNumber(keywordValue)) throw new TypeError(`${keyword} must be a number`);
    const message = `must be ${words} ${keywordValue}`;
    return (value, run) => !isNumber(value) || fits(value, keywordValue) || run.fail(message);
  };
}

export const multipleOf: Build = (keywordValue) => {
  if (!isNumber(keywordValue) || keywordValue <= 0) throw new TypeError('multipleOf must be a number greater than 0');
  const message = once(() => `must be multiple of ${keywordValue}`);
  return (value, run) => !isNumber(value) || Number.isInteger(value / keywordValue) || run.fail(message);
};

export const characters: Measure = (value, { work }) => {
  if (typeof value !== 'string') return undefined;
  work.take(2 + (value.length >>> 2));
  let count = 0;
  for (let at = 0; at < value.length; at += value.codePointAt(at)! > 0xffff ? 2 : 1) count += 1;
  return count;
};
export const items: Measure = (value) => (Array.isArray(value) ? value.length : undefined);
export const properties: Measure = (value, run) => (isObject(value) ? keysOf(value, run).length : undefined);

export const pattern: Build = (keywordValue, { reader }) => {
  if (typeof keywordValue !== 'string') throw new TypeError('pattern must be a string');
  const compiled = patternOf(keywordValue, 'pattern', reader);
  const message = `must match pattern ${shown(keywordValue)}`;
  return (value, run) => typeof value !== 'string' || compiled.test(value, run.work) || run.fail(message);
};

export function least(measure: Measure, what: string): Build {
  return (keywordValue, { keyword }) => {
    if (!isNumber(keywordValue)) throw new TypeError(`${keyword} must be a number`);
    const message = `must NOT have fewer than ${keywordValue} ${what}`;
    return (value, run) => (measure(value, run) ?? keywordValue) >= keywordValue || run.fail(message);
  };
}

export function most(measure: Measure, what: string): Build {
  return (keywordValue, { keyword }) => {
    if (!isNumber(keywordValue)) throw new TypeError(`${keyword} must be a number`);
    const message = `must NOT have more than ${keywordValue} ${what}`;
    return (value, run) => (measure(value, run) ?? keywordValue) <= keywordValue || run.fail(message);
  };
}

/** The length or count of a value. Undefined if the value has another type. */
type Measure = (value: unknown, run: Run) => number | undefined;
