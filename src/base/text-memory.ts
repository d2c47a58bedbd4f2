const WIDE = /[^\0-\u00ff]/;

/** Whether V8 stores a text with two bytes for each character: one of them is beyond U+00FF. */
export function isWide(text: string): boolean {
  return WIDE.test(text);
}

/** How many bytes of memory the characters of a text take. */
export function textMemory(text: string): number {
  return isWide(text) ? 2 * text.length : text.length;
}
