import type { Work } from './work.ts';

/** Equal for values that JSON Schema calls equal, and for no others (2020-12 core, section 4.2.2: Instance Equality). */
export type Key = string | boolean | null | undefined;

/** What compares a value with others in constant time: a text, or the value itself where it is neither that nor a number. */
export function keyOf(value: unknown, work: Work): Key {
  if (typeof value === 'string') {
    work.take(8);
    work.read(value.length);
    // The quote keeps it apart from the text of a list or an object.
    return `"${value}`;
  }
  if (typeof value === 'number') {
    work.take(10);
    // V8 hashes numbers, and texts that are whole numbers, without a seed: many of one hash would be compared one by one.
    return `#${value}`;
  }
  if (typeof value !== 'object' || value === null) {
    work.take(1);
    return value as Key;
  }
  const parts: string[] = [];
  write(value, parts, work);
  return parts.join('');
}

/** JSON with the properties of each object in the order of their names. */
function write(value: unknown, parts: string[], work: Work): void {
  if (typeof value !== 'object' || value === null) {
    work.take(8);
    if (typeof value === 'string') work.read(value.length);
    parts.push(JSON.stringify(value) ?? 'null');
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
    // Sorting compares long names to the end if they begin alike.
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
