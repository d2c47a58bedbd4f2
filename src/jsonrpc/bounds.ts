import type { JsonObject } from './message.ts';

/**
 * How deep the values of a message may be nested. `JSON.parse` accepts millions of levels, but `JSON.stringify` and every
 * recursive function would overflow the stack.
 */
export const MAX_DEPTH = 1000;
/** How many values a message may hold. Millions of small ones fit into 16 MiB, and `JSON.parse` takes seconds for them. */
export const MAX_VALUES = 250_000;
/** `JSON.parse` reads a text of this many characters in a tenth of a second, whatever it holds. */
const ALWAYS_QUICK = 1_000_000;
/** An envelope is made of at most this many pieces, so that making it costs no more than reading the text. */
const MAX_PIECES = 1000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Whether a parsed value has more levels than `than`. */
export function isDeeper(value: unknown, than: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (than === 0) return true;
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object' && isDeeper(element, than - 1)) return true;
    return false;
  }
  for (const key in value) {
    const member: unknown = (value as JsonObject)[key];
    if (typeof member === 'object' && isDeeper(member, than - 1)) return true;
  }
  return false;
}

/** Whether a JSON text holds more values than a message may. */
export function hasTooManyValues(text: string): boolean {
  if (text.length <= ALWAYS_QUICK) return false;
  let values = 1;
  for (let at = 0; at < text.length && values <= MAX_VALUES; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) values += 1;
  }
  return values > MAX_VALUES;
}

/** The text of an object with null in place of each array and object in it; undefined where there are too many. */
export function envelopeOf(text: string): string | undefined {
  const kept: string[] = [];
  let from = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1;
      if (depth === 2 && kept.push(text.slice(from, at), 'null') > MAX_PIECES) return undefined;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      depth -= 1;
      if (depth === 1) from = at + 1;
    }
  }
  kept.push(text.slice(from));
  return kept.join('');
}

/** The place of the quote that ends the string at `start`. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
