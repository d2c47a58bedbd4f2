import { isObject } from './message.ts';

/** Changes all strings in a JSON value, and the names in it. Other values stay as they are. */
export function changeTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => changeTexts(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries<unknown>(value).map(([name, member]) => [change(name), changeTexts(member, change)]),
  );
}

/** Adds the strings in a JSON value, and the names in it. */
export function collectTexts(value: unknown, texts: Set<string>): void {
  if (typeof value === 'string') texts.add(value);
  else if (Array.isArray(value)) for (const item of value) collectTexts(item, texts);
  else if (isObject(value)) {
    for (const [name, member] of Object.entries<unknown>(value)) {
      texts.add(name);
      collectTexts(member, texts);
    }
  }
}
