import type { JsonObject } from '../../jsonrpc/message.ts';

/**
 * The text of a host's configuration file. It lists servers by name. The methods return a new text, in which everything
 * else is as before: comments, order, indentation, line ends.
 */
export interface ServerText {
  /** The entries, by name. */
  readonly servers: JsonObject;
  /** Adds an entry, or replaces the one of this name. @throws FormatError if that is not possible. */
  with(name: string, entry: JsonObject): string;
  /** Removes an entry, which exists. @throws FormatError if that is not possible. */
  without(name: string): string;
}

/** A text that cannot be read or changed. The message does not quote it, because it may contain secrets. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

/** Replaces a part of a text. */
export interface Edit {
  /** The first character that is replaced. */
  readonly start: number;
  /** The first character after those that are replaced. */
  readonly end: number;
  readonly text: string;
}

/** @param edits of parts that do not overlap, in any order. Of several at one place, the first one comes first. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let changed = '';
  let done = 0;
  for (const { start, end, text: inserted } of edits.toSorted((a, b) => a.start - b.start)) {
    changed += text.slice(done, start) + inserted;
    done = end;
  }
  return changed + text.slice(done);
}

/** The line end that a text uses. */
export function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** The spaces and tabs at the beginning of the line, if nothing else is before this position. */
export function indentAt(text: string, position: number): string | undefined {
  return /(?:^|\n)([ \t]*)$/.exec(text.slice(0, position))?.[1];
}

/** The spaces and tabs at the beginning of the line with this position. */
export function lineIndent(text: string, position: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', position - 1) + 1))![0];
}

/** Where the spaces and tabs before a position begin. A pattern would take minutes for a file with very many. */
export function blankStart(text: string, position: number): number {
  let at = position;
  while (text[at - 1] === ' ' || text[at - 1] === '\t') at -= 1;
  return at;
}

/** Whole lines, with the line end, if there is nothing else in the lines of a part. Otherwise the part itself. */
export function wholeLines(text: string, start: number, end: number): { start: number; end: number } {
  const indent = indentAt(text, start);
  const rest = /^[ \t]*(?:\r?\n|$)/.exec(text.slice(end))?.[0];
  return indent === undefined || rest === undefined
    ? { start, end }
    : { start: start - indent.length, end: end + rest.length };
}
