const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
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

/** The most characters of a number that is not a long one. What `JSON.stringify` writes has at most 24. */
const MAX_NUMBER = 32;

/** Which limit a JSON text exceeds. */
export type Excess = 'depth' | 'keys and values' | 'numbers';

/**
 * Whether a JSON text has arrays and objects nested deeper than a limit, more keys and values in total, or more long numbers. An
 * empty array or object counts as two values. A long number has more than 32 characters, or three digits or more in the exponent.
 * If several limits are exceeded, it says `keys and values` or `numbers`, because such a text should not be parsed. It scans the
 * text, because walking the keys of a large object takes longer than parsing its text.
 */
export function excessOf(
  text: string,
  maxDepth: number,
  maxKeysAndValues: number,
  maxLongNumbers = Infinity,
): Excess | undefined {
  let depth = 0;
  let count = 1;
  let longNumbers = 0;
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
    else if (code >= ZERO && code <= NINE) {
      const start = at;
      let exponent = 0;
      for (let next = code; isOfNumber(next); next = text.charCodeAt(at)) {
        at += 1;
        if (next === LOWER_E || next === UPPER_E) exponent = at;
      }
      if (at - start > MAX_NUMBER || (exponent > 0 && hasThreeDigits(text, exponent, at))) longNumbers += 1;
      if (longNumbers > maxLongNumbers) return 'numbers';
      at -= 1;
    }
    if (count > maxKeysAndValues) return 'keys and values';
  }
  return excess;
}

/** Whether a number can have this character after its first digit. */
function isOfNumber(code: number): boolean {
  // A slash, which is between them, follows no number.
  return (code >= PLUS && code <= NINE && code !== COMMA) || code === LOWER_E || code === UPPER_E;
}

/** Whether an exponent has three digits or more. Zeros before them do not count: some programs write `1.5e+000`. */
function hasThreeDigits(text: string, start: number, end: number): boolean {
  let at = start;
  // Stryker disable next-line EqualityOperator: at the end, no digits are left either way
  while (at < end && !(text.charCodeAt(at) > ZERO)) at += 1;
  return end - at > 2;
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
