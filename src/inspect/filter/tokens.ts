import { FilterError } from './error.ts';
import type { Piece } from './pattern.ts';

/** A part of a filter, with its position. */
export interface Token {
  readonly type: '(' | ')' | '-' | 'word';
  readonly start: number;
  readonly end: number;
  /** For a word whose last quote is not closed: where that quote is. */
  readonly openQuote?: number | undefined;
}

/**
 * Splits a filter into parentheses, minus signs and words. Quoted text is part of a word, and may contain any
 * character.
 */
export function tokensOf(filter: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < filter.length) {
    const char = filter[at]!;
    if (/\s/.test(char)) at += 1;
    else if (char === '(' || char === ')' || char === '-') {
      tokens.push({ type: char, start: at, end: at + 1 });
      at += 1;
    } else {
      const word = wordAt(filter, at);
      tokens.push(word);
      at = word.end;
    }
  }
  return tokens;
}

function wordAt(filter: string, start: number): Token {
  let at = start;
  let openQuote: number | undefined;
  for (; at < filter.length; at += 1) {
    const char = filter[at]!;
    if (openQuote === undefined) {
      if (/[\s()]/.test(char)) break;
      if (char === '"') openQuote = at;
    } else if (char === '\\') at += 1;
    else if (char === '"') openQuote = undefined;
  }
  return { type: 'word', start, end: Math.min(at, filter.length), openQuote };
}

/** The quoted and unquoted pieces of a value. @throws FilterError if a quote does not end. */
export function piecesOf(filter: string, start: number, end: number): Piece[] {
  const pieces: Piece[] = [];
  for (let at = start; at < end;) {
    const quoted = filter[at] === '"';
    const [whole] = (quoted ? /^"(?:[^"\\]|\\.)*"/s : /^[^"]+/).exec(filter.slice(at, end)) ?? [];
    if (whole === undefined) throw new FilterError('This quote does not end', at, end);
    pieces.push({ text: quoted ? whole.slice(1, -1).replace(/\\(.)/gs, '$1') : whole, quoted });
    at += whole.length;
  }
  return pieces;
}

/** A value as it must be written in a filter, so that it stands for itself. */
export function quotedValue(value: string): string {
  return /^[^\s"()*\\]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}
