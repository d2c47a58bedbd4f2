import type { Work } from './work.ts';

/**
 * A key that is equal for values that JSON Schema calls equal, and for no others (2020-12 core, section 4.2.2: Instance
 * Equality).
 */
export type Key = string | boolean | null | undefined;

/**
 * The key for comparing a value with others in constant time: a text, or the value itself if it is a boolean, null or
 * undefined.
 */
export function keyOf(value: unknown, work: Work): Key {
  if (typeof value === 'string') {
    work.take(8);
    work.read(value.length);
    // The quote distinguishes this from the text of a list or an object.
    return `"${value}`;
  }
  if (typeof value === 'number') {
    work.take(10);
    return textOf(value);
  }
  if (typeof value !== 'object' || value === null) {
    work.take(1);
    return value as Key;
  }
  const parts: string[] = [];
  write(value, parts, work);
  return parts.join('');
}

const double = new Float64Array(1);
const units = new Uint16Array(double.buffer);

/**
 * A text that only this number has: the digits of a small whole number, or five characters. V8 hashes numbers, and texts of
 * whole numbers, without a seed. An attacker could choose many with one hash, which would be compared one by one. The decimal
 * digits of a number can take 2 µs, which is as long as 50 steps.
 */
function textOf(value: number): string {
  // Most numbers are small, and these are written at once. −0 and 0 are equal.
  if (value === (value | 0)) return `~${value}`;
  double[0] = value + 0;
  return `#${String.fromCharCode(units[0]!, units[1]!, units[2]!, units[3]!)}`;
}

/** Like JSON, with the properties of each object in the order of their names, and numbers as `textOf` writes them. */
function write(value: unknown, parts: string[], work: Work): void {
  if (typeof value !== 'object' || value === null) {
    work.take(8);
    if (typeof value === 'string') work.read(value.length);
    parts.push(typeof value === 'number' ? textOf(value) : (JSON.stringify(value) ?? 'null'));
    return;
  }
  work.enter();
  if (Array.isArray(value)) {
    work.take(8 + value.length);
    parts.push('[');
    for (const item of value) {
      write(item, parts, work);
      parts.push(',');
    }
    parts.push(']');
  } else {
    const keys = Object.keys(value);
    const comparisons = Math.ceil(Math.log2(keys.length + 1));
    work.take(8 + keys.length * (15 + 3 * comparisons));
    // Long names that begin alike are compared to the end when they are sorted.
    for (const { length } of keys) work.take(2 + (length >>> 3) + (length >>> 4) * comparisons);
    parts.push('{');
    for (const key of keys.toSorted()) {
      const member: unknown = (value as Record<string, unknown>)[key];
      if (member === undefined) continue;
      parts.push(JSON.stringify(key), ':');
      write(member, parts, work);
      parts.push(',');
    }
    parts.push('}');
  }
  work.leave();
}
