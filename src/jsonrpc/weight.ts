import { isWide, textMemory } from '../base/text-memory.ts';

/** Bytes of memory that a parsed value takes, as measured with V8: an empty object in a list takes 64 bytes for its 3 characters of JSON. */
const OBJECT = 64;
const ARRAY = 48;
/** The memory of each value in an array or object, and of each key. */
const MEMBER = 16;

/**
 * The memory of a character of JSON after parsing, in addition to its own byte. Strings and numbers take about as much
 * as their text.
 */
const COSTS = new Uint8Array(256);
COSTS['{'.charCodeAt(0)] = OBJECT;
COSTS['['.charCodeAt(0)] = ARRAY;
COSTS[','.charCodeAt(0)] = MEMBER;
COSTS[':'.charCodeAt(0)] = MEMBER;

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const U = 'u'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
/** The first byte of U+0100 in UTF-8. Those of later characters are greater. */
const FIRST_WIDE = 0xc4;
/** The bytes without which no string has a character beyond U+00FF. */
const MARKS = new Uint8Array(256).fill(1, FIRST_WIDE);
MARKS[BACKSLASH] = 1;

/**
 * Estimates how many bytes of memory a JSON text takes after parsing. The estimate is rather too high than too low, except
 * that many objects with different keys take up to two and a half times as much.
 */
export function jsonWeight(json: Uint8Array): number {
  let weight = json.length;
  let marks = 0;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index]!;
    weight += COSTS[byte]!;
    marks |= MARKS[byte]!;
  }
  return marks === 0 ? weight : weight + secondBytes(json);
}

/**
 * The part of `weightOf` that a JSON text shows before it is parsed: its objects and arrays, and their members but one each. Much
 * less than `weightOf` if there are long texts, and more only if an object has the same key twice.
 */
export function structureWeight(json: string): number {
  let weight = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) inString = !inString;
    else if (!inString) weight += COSTS[code] ?? 0;
    else if (code === BACKSLASH) index += 1;
  }
  return weight;
}

/** How many characters take a second byte, because they are in a string with others beyond U+00FF. */
function secondBytes(json: Uint8Array): number {
  let count = 0;
  // Where the current string began, or where the last one ended.
  let start = 0;
  let hasWide = false;
  // The six bytes of such an escape are more than its character takes.
  let escaped = 0;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index]!;
    if (byte === BACKSLASH) {
      index += 1;
      if (json[index] !== U) continue;
      // Of U+0100 and later characters, one of the first two digits is not zero.
      hasWide ||= json[index + 1] !== ZERO || json[index + 2] !== ZERO;
      index += 4;
      escaped += 6;
    } else if (byte === QUOTE) {
      if (hasWide) count += asciiIn(json, start, index) - escaped;
      hasWide = false;
      escaped = 0;
      start = index;
    } else hasWide ||= byte >= FIRST_WIDE;
  }
  return hasWide ? count + Math.max(0, asciiIn(json, start, json.length) - escaped) : count;
}

/** Other characters take two bytes in UTF-8, too. */
function asciiIn(json: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let index = start; index < end; index += 1) if (json[index]! < 0x80) count += 1;
  return count;
}

/**
 * Estimates how many bytes of memory a parsed JSON value takes. Not recursive: it may be nested very deeply. Other values
 * are counted too, but arrays without end or typed arrays take no longer than their first `limit` bytes.
 *
 * @param limit where to stop counting.
 */
export function weightOf(json: unknown, limit = Infinity): number {
  const values: unknown[] = [json];
  let weight = 0;
  while (values.length > 0 && weight <= limit) {
    const value = values.pop();
    weight += MEMBER;
    if (typeof value === 'string') {
      weight += value.length;
      // To look at its characters, V8 would copy a text that was joined from parts.
      if (weight <= limit && isWide(value)) weight += value.length;
    }
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      weight += ARRAY;
      // An array of holes may have any length, and takes no memory.
      if (weight + MEMBER * value.length > limit) return limit + MEMBER;
      for (const inner of value as unknown[]) values.push(inner);
      continue;
    }
    weight += OBJECT;
    // Each of its characters would be a key.
    // oxlint-disable-next-line unicorn/no-instanceof-builtins -- a cloned value belongs to the realm that reads it
    if (value instanceof String) {
      weight += value.length;
      continue;
    }
    if (ArrayBuffer.isView(value)) {
      weight += value.byteLength * MEMBER;
      continue;
    }
    // `Object.entries` takes twice as long for an object with 90,000 keys.
    for (const key of Object.keys(value)) {
      weight += MEMBER + textMemory(key);
      values.push((value as Record<string, unknown>)[key]);
    }
  }
  return weight;
}
