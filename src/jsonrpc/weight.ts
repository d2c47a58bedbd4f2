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

/** Estimates how many bytes of memory a JSON text takes after parsing. The estimate is rather too high than too low. */
export function jsonWeight(json: Uint8Array): number {
  let weight = json.length;
  for (let index = 0; index < json.length; index += 1) weight += COSTS[json[index]!]!;
  return weight;
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
    if (typeof value === 'string') weight += value.length;
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
      weight += MEMBER + key.length;
      values.push((value as Record<string, unknown>)[key]);
    }
  }
  return weight;
}
