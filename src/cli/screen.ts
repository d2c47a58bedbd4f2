import { printable } from '../base/printable.ts';

/** The longest line that is shown, in characters. */
const MAX_LINE = 16_384;

/** Any value as one safe line of text, cut at 16,384 characters. A peer may send a wrong type. */
export function oneLine(value: unknown): string {
  const text = wordsOf(value);
  const line = printable(text.slice(0, MAX_LINE)).replace(/\s+/g, ' ').trim();
  return text.length > MAX_LINE ? `${line}…` : line;
}

/** A string as it is, undefined as an empty string, and anything else as JSON. */
export function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Indents all lines of a server's text but the first, so that none looks like a line of this program. */
export function indented(text: string): string {
  return text.replaceAll('\n', '\n    ');
}

/** A line that a server wrote to stderr. The server's name comes first if the line looks like one of this program. */
export function relayed(line: string, server: string): string {
  return /^\W*everwire\b/i.test(line) ? `${oneLine(server)}: ${line}` : line;
}

/** Cuts a line to a width. */
export function cut(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** The width of a text on a terminal, in columns. Each character counts as one. */
export function widthOf(text: string): number {
  return Array.from(text).length;
}

/** Decimal units: 1 kB is 1000 bytes. */
export function bytes(count: number): string {
  if (count < 1000) return count === 1 ? '1 byte' : `${count} bytes`;
  const [value, unit] = count < 999_500 ? [count / 1000, 'kB'] : [count / 1_000_000, 'MB'];
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}
