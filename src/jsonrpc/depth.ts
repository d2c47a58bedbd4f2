/**
 * How many levels of nesting a message may have. `JSON.parse` accepts millions, but code that walks through such a value
 * recursively, `JSON.stringify` among it, overflows the stack.
 */
export const MAX_DEPTH = 1000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** A JSON text with null in place of values that are too deep; undefined if there are none. */
export function withoutDepths(text: string): string | undefined {
  // A shorter text cannot be that deep.
  if (text.length <= 2 * MAX_DEPTH) return undefined;
  const kept: string[] = [];
  let from = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (OPENING.has(code)) {
      depth += 1;
      if (depth === MAX_DEPTH + 1) kept.push(text.slice(from, at), 'null');
    } else if (CLOSING.has(code)) {
      depth -= 1;
      if (depth === MAX_DEPTH) from = at + 1;
    }
  }
  if (kept.length === 0) return undefined;
  if (depth <= MAX_DEPTH) kept.push(text.slice(from));
  return kept.join('');
}

/** The index of the quote that ends the string that starts at an index. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end - 1;
    while (text.charCodeAt(escapes) === BACKSLASH) escapes -= 1;
    if ((end - escapes) % 2 === 1) return end;
  }
  return text.length;
}
