import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { changesIn, RIGHT_TO_LEFT } from './text-cost.ts';

/**
 * Runs of characters that would be invisible or change the order of others: controls, format characters such as
 * bidirectional overrides and zero-width ones, line and paragraph separators, tags, surrogates without a partner, and
 * what Unicode says may be ignored, such as variation selectors. Emoji may have the selector U+FE0F.
 */
const HIDDEN = /(?:[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?!\uFE0F)\p{DI}|(?<!\p{Emoji})\uFE0F)+/gu;
/** The same, but line feeds and tabs. */
const HIDDEN_IN_LINES = /(?:[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?!\uFE0F)\p{DI}|(?<!\p{Emoji})\uFE0F)+/gu;
/**
 * The most runs of a text that are marked one by one. A page has hundreds of texts, and a browser needs seconds to lay out
 * 100 000 elements.
 */
const MAX_MARKED = 20;
/** The same for a text in one line, of which a page has thousands. */
const MAX_MARKED_IN_LINE = 5;

/** The most characters of a text that are shown, unless a view says otherwise. A browser needs half a second for a million. */
const MAX_SHOWN = 10_000;

/** The most runs of right-to-left text that are shown, also of a very long text. */
const MAX_RUNS = 2500;
/** Letters and marks as in `text-cost.ts`, but without those that are shown as escapes: an escape costs little. */
const JOINED_LETTERS = /(?:(?!\p{DI})[\u0590-\u1FFF\p{M}])+/gu;
const MARKS = /(?:(?!\p{DI})[\p{M}\p{EMod}]|(?<=\p{Emoji})\uFE0F)+/gu;
/** The most letters of one word, in a script such as Arabic. A browser needs four seconds for a word of 100,000. */
const MAX_WORD = 1000;
/**
 * The most marks on one letter. No language has more (Unicode Standard Annex 15, Stream-Safe Text Format). A browser needs
 * 5 ms for 100, and a page has thousands of letters.
 */
const MAX_MARKS = 30;
/** The most changes of script, times the length of their line. A browser needs half a second for five times as much. */
const MAX_CHANGES = 100_000_000;
/** What counts as the length of a shorter line. A browser needs 0.3 s for 50,000 changes in such lines. */
const MIN_LINE = 2000;
/** Characters without white space between them, and the space after them: after some quotes, no line ends there. */
const WORDS = /[^ \n\t]+ ?/g;
/** Words that a browser needs long for: very long ones, unless in ASCII, and those with such quotes or in Chinese. */
const COSTLY_WORD = /[\xAB\xBB\u2000-\uFFFF]|^(?=.{1000}).*[^ -~]/s;
/** The most characters of such words. Of as many, a browser lays out a single word in 0.2 s, and of four times as many in 3 s. */
const MAX_COSTLY_WORDS = 100_000;
/** Where kana or Bopomofo begin, and Hangul after Chinese. */
const KANA = /[\u3040-\u312F\u31A0-\u31BF\u31F0-\u31FF]+|\p{Script=Han}(?=\p{Script=Hang})/gu;
/** The most of them. A browser needs 0.3 s for as many, if they are next to Chinese. Japanese has one in four characters or more. */
const MAX_KANA = 25_000;
/** The most lines. A browser needs 0.35 s for as many. */
const MAX_LINES = 100_000;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapesOf(run: string): string {
  return run.length === 1 ? escapeOf(run) : Array.from(run, escapeOf).join('');
}

function escapeOf(char: string): string {
  const code = char.codePointAt(0)!;
  const hex = code.toString(16);
  return SHORT[char] ?? (code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`);
}

/** A text as it can be shown in one line, with escapes for what would be hidden. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escapesOf);
}

/** The beginning of a text for a place that takes only text, such as a choice: at most `max` characters, and `…`. */
export function beginning(text: string, max: number): string {
  const end = fitting(text, max);
  return `${visible(text.slice(0, end))}${end < text.length ? '…' : ''}`;
}

/** The same JSON, with escapes for what would be hidden in its strings. */
export function inJson(json: string): string {
  return json.replace(HIDDEN_IN_LINES, (run) => run.replace(/[^]/g, unitEscapeOf));
}

function unitEscapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

interface VisibleProps {
  readonly text: string;
  /** Keeps line feeds and tabs. */
  readonly lines?: boolean;
  /** The most characters that are shown, those of escapes too. Default 10,000. */
  readonly max?: number;
}

/**
 * How many characters of a text are shown in at most `max`, those of escapes too. Fewer if right-to-left text or kana begin
 * very often, the script of a line changes very often, a word is very long, a letter has very many marks, or there are very
 * many lines.
 */
export function fitting(text: string, max: number, lines = false): number {
  let end = text
    .slice(0, roomFor(text, max, lines))
    .split('\n', MAX_LINES)
    .join('\n').length;
  if (!/[\u0100-\uFFFF]/.test(text.slice(0, end))) return end;
  let room = MAX_COSTLY_WORDS;
  for (const { 0: word, index } of text.slice(0, end).matchAll(WORDS)) {
    if (!COSTLY_WORD.test(word)) continue;
    if (word.length > room) end = Math.min(end, index + room);
    room = Math.max(0, room - word.length);
  }
  for (const [runs, most] of [
    [RIGHT_TO_LEFT, Math.min(MAX_RUNS, 20 + max / 25)],
    [KANA, MAX_KANA],
  ] as const) {
    let left = most;
    for (const { index } of text.slice(0, end).matchAll(runs)) if ((left -= 1) < 0) end = Math.min(end, index);
  }
  end = Math.min(end, endOfChanges(text.slice(0, end)));
  for (const [runs, longest] of [
    [JOINED_LETTERS, MAX_WORD],
    [MARKS, MAX_MARKS],
  ] as const)
    for (const { 0: run, index } of text.slice(0, end).matchAll(runs))
      if (run.length > longest) end = Math.min(end, index + longest);
  // Not between the two halves of a character.
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(end - 1, end + 1)) ? end - 1 : end;
}

/** Where a text is cut because the script changes very often. The browser lays out each line on its own. */
function endOfChanges(text: string): number {
  let start = 0;
  let room = MAX_CHANGES;
  for (const line of text.split('\n')) {
    // The line itself counts as one.
    let changes = 1;
    let end = line.length;
    for (const index of changesIn(line)) {
      changes += 1;
      if (room < changes * MIN_LINE) return start + index;
      end = Math.min(end, Math.floor(room / changes));
      if (index >= end) break;
    }
    if (end < line.length) return start + end;
    if (room < MIN_LINE) return start;
    room -= changes * Math.max(end, MIN_LINE);
    start += end + 1;
  }
  return text.length;
}

function roomFor(text: string, max: number, lines: boolean): number {
  let room = max;
  for (const { 0: run, index } of text.slice(0, max).matchAll(lines ? HIDDEN_IN_LINES : HIDDEN)) {
    const size = escapesOf(run).length;
    // `room` is what is left for the text up to the end, without what escapes need more.
    if (index + size > room) return Math.min(room, index + Math.floor((Math.max(0, room - index) * run.length) / size));
    room -= size - run.length;
  }
  return Math.min(text.length, room);
}

/**
 * Text from somebody else, such as a server. What would be hidden is shown as escapes. Of many, the first are marked, and then
 * the whole rest of the text. A longer text is cut.
 */
export function Visible({ text, lines = false, max = MAX_SHOWN }: VisibleProps): JSX.Element {
  // The same element is not compared with itself when a list is drawn again.
  return useMemo(() => shown(text, lines, max), [text, lines, max]);
}

function shown(whole: string, lines: boolean, max: number): JSX.Element {
  const pattern = lines ? HIDDEN_IN_LINES : HIDDEN;
  const end = max === Infinity ? whole.length : fitting(whole, max, lines);
  const text = whole.slice(0, end);
  const pieces: (JSX.Element | string)[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (pieces.length >= 2 * (lines ? MAX_MARKED : MAX_MARKED_IN_LINE)) break;
    pieces.push(text.slice(at, match.index), <span class="escape">{escapesOf(match[0])}</span>);
    at = match.index + match[0].length;
  }
  const rest = text.slice(at);
  const escaped = rest.replace(pattern, escapesOf);
  pieces.push(escaped === rest ? rest : <span class="escape">{escaped}</span>);
  if (end < whole.length) pieces.push('…');
  return <>{pieces}</>;
}
