import { Failure } from './failure.ts';

/**
 * Parses `key=value` words. Values are strings. @throws Failure with code 2 if a word has another form, or a key is
 * given twice.
 */
export function pairs(words: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const word of words) {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (key === undefined || value === undefined) {
      throw Failure.usage(`${JSON.stringify(word)} is not an argument: it must be key=value`);
    }
    if (found.has(key)) throw Failure.usage(`the argument ${key} is given twice`);
    found.set(key, value);
  }
  return found;
}
