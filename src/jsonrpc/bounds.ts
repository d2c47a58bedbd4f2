const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Whether a JSON text has arrays and objects nested deeper than a limit. It scans the text, because walking the keys of
 * a large object takes longer than parsing its text.
 */
export function isDeeper(text: string, than: number): boolean {
  let depth = 0;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1;
      if (depth > than) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}

/**
 * Whether a JSON text has more keys and values in total than a limit. An empty array or object counts as two values.
 */
export function hasMoreKeysAndValues(text: string, than: number): boolean {
  let count = 1;
  // Stryker disable next-line EqualityOperator: there is no character at the end of a text
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === COLON || code === OPEN_LIST || code === OPEN_OBJECT) count += 1;
    if (count > than) return true;
  }
  return false;
}

/** The position of the quote that ends the string at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    if (!isEscaped(text, quote)) return quote;
  }
  return text.length;
}

/** Whether an odd number of backslashes stands before a quote. */
function isEscaped(text: string, quote: number): boolean {
  let escaped = false;
  for (let at = quote - 1; text.charCodeAt(at) === BACKSLASH; at -= 1) escaped = !escaped;
  return escaped;
}
