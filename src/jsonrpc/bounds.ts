const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LOWER_E = 0x65;
const UPPER_E = 0x45;
const LOWER_U = 0x75;
const LOWER_D = 0x64;
const UPPER_D = 0x44;
const HIGH = 1;
const LOW = 2;
/** The half of a surrogate pair, by its second hexadecimal digit: D800 to DBFF come first, DC00 to DFFF second. */
const HALVES = new Uint8Array(128);
for (const digit of '89abAB') HALVES[digit.charCodeAt(0)] = HIGH;
for (const digit of 'cdefCDEF') HALVES[digit.charCodeAt(0)] = LOW;
/** What an escaped surrogate begins with. `includes` takes 0.1 seconds for each such text in 16 MiB of backslashes. */
const SURROGATE = /\\u[dD]/;

/** What each number with a long exponent has. */
const LONG_EXPONENT = /[eE][+-]?\d{3}/;
const LONG_EXPONENT_HERE = /[eE][+-]?\d{3}/y;

/** Which limit a JSON text exceeds. */
export type Excess = 'depth' | 'keys and values';

/**
 * Whether a JSON text has arrays and objects nested deeper than a limit, or more keys and values in total. An empty array
 * or object counts as two values. If both limits are exceeded, it says `keys and values`, because such a text should not
 * be parsed. It scans the text, because walking the keys of a large object takes longer than parsing its text.
 */
export function excessOf(text: string, maxDepth: number, maxKeysAndValues: number): Excess | undefined {
  let depth = 0;
  let count = 1;
  let excess: Excess | undefined;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === COLON) count += 1;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      count += 1;
      depth += 1;
      if (depth > maxDepth) excess = 'depth';
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
    if (count > maxKeysAndValues) return 'keys and values';
  }
  return excess;
}

/** Whether a JSON text has arrays and objects nested deeper than a limit. */
export function isDeeper(text: string, than: number): boolean {
  return excessOf(text, than, Infinity) !== undefined;
}

/** Whether a JSON text has more keys and values in total than a limit. */
export function hasMoreKeysAndValues(text: string, than: number): boolean {
  return excessOf(text, Infinity, than) !== undefined;
}

/** How many keys and values a JSON text has, counted as `excessOf` does. */
export function keysAndValuesIn(text: string): number {
  let count = 1;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === COLON || code === OPEN_LIST || code === OPEN_OBJECT) count += 1;
  }
  return count;
}

/**
 * Whether a JSON text has more escapes of unpaired surrogates than a limit, such as `\\ud800` alone. `JSON.stringify` takes
 * ten times as long for each of them as for another character.
 */
export function hasMoreUnpairedSurrogates(text: string, than: number): boolean {
  // Stryker disable next-line ConditionalExpression,Regex: only a text with them takes long to search
  if (!SURROGATE.test(text)) return false;
  let count = 0;
  /** Where the last high surrogate ends. A low surrogate there makes a pair with it. */
  let end = -1;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: what comes after so many, or after the end, changes nothing
  for (let at = 0; at < text.length && count <= than + 1; at += 1) {
    if (text.charCodeAt(at) !== BACKSLASH) continue;
    at += 1;
    if (text.charCodeAt(at) !== LOWER_U) continue;
    const first = text.charCodeAt(at + 1);
    if (first !== LOWER_D && first !== UPPER_D) continue;
    const half = HALVES[text.charCodeAt(at + 2)];
    if (half === LOW && end === at - 1) count -= 1;
    else if (half) count += 1;
    if (half === HIGH) end = at + 5;
  }
  return count > than;
}

/**
 * Whether a JSON text has more numbers with three digits or more in the exponent than a limit, such as `1e-300`.
 * `JSON.stringify` takes up to 1.5 µs for some of them, ten times as long as for another number.
 */
export function hasMoreLongExponents(text: string, than: number): boolean {
  // Stryker disable next-line ConditionalExpression,Regex: only a text with them takes long to search
  if (!LONG_EXPONENT.test(text)) return false;
  let count = 0;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = 0; at < text.length && count <= than; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === LOWER_E || code === UPPER_E) {
      LONG_EXPONENT_HERE.lastIndex = at;
      if (LONG_EXPONENT_HERE.test(text)) count += 1;
    }
  }
  return count > than;
}

/** The position of the quote that ends the string at `start`, or the end of the text. */
export function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  // Stryker disable next-line ConditionalExpression: without the shortcut, a string without escapes only takes longer
  if (quote !== -1 && text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  // Each quote may be escaped, so a search for the next one would not be faster.
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}
