import { eastAsianWidth } from 'get-east-asian-width';
import { printable } from '../base/printable.ts';
import { shortText } from '../base/short-text.ts';
import { MAX_TEXT } from './print-status.ts';

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

/** The same, of any value, cut at 65,536 characters. */
export function indentedStart(value: unknown): string {
  return indented(shortText(wordsOf(value), MAX_TEXT));
}

/** A line that a server wrote to stderr. The server's name comes first if the line looks like one of this program. */
export function relayed(line: string, server: string): string {
  return /^\W*everwire\b/i.test(line) ? `${oneLine(server)}: ${line}` : line;
}

/** Cuts a line to a width in columns. */
export function cut(text: string, width: number): string {
  let columns = 0;
  let last = 0;
  /** The length of the part that leaves a column for "…". */
  let kept = 0;
  for (const character of text) {
    last = columnsOf(character, last);
    columns += last;
    if (columns > width) return `${text.slice(0, kept)}…`;
    if (columns < width) kept += character.length;
  }
  return text;
}

/** The width of a text on a terminal, in columns. Chinese characters and emoji, for example, take two, and combining marks none. */
export function widthOf(text: string): number {
  let columns = 0;
  let last = 0;
  for (const character of text) {
    last = columnsOf(character, last);
    columns += last;
  }
  return columns;
}

/** @param before the columns of the character before. */
function columnsOf(character: string, before: number): number {
  const code = character.codePointAt(0)!;
  // The first combining mark.
  if (code < 0x300) return 1;
  // It makes an emoji of a character such as ⚠, which is then wide.
  if (code === 0xfe0f) return before === 1 ? 1 : 0;
  return /[\p{Mn}\p{Me}\p{Cf}]/u.test(character) ? 0 : eastAsianWidth(code);
}

/** Decimal units: 1 kB is 1000 bytes. */
export function bytes(count: number): string {
  if (count < 1000) return count === 1 ? '1 byte' : `${count} bytes`;
  const [value, unit] = count < 999_500 ? [count / 1000, 'kB'] : [count / 1_000_000, 'MB'];
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}
