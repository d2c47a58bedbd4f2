import { cutText } from './short-text.ts';

/**
 * Characters that can control a terminal or mislead its reader: control characters (C0, DEL, C1), marks and overrides of
 * writing direction, line and paragraph separators, and characters that show nothing (Unicode's Default_Ignorable_Code_Point
 * below U+10000). First and last of each range.
 */
const UNSAFE_RANGES = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0e],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
] as const;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

const SAFE = 0;
const UNSAFE = 1;
const TAB_OR_BREAK = 2;
/** Joiners have no width, but emoji and Arabic or Indic scripts need them. */
const JOINER = 3;
/** Unsafe if unpaired, and also in pairs that encode an invisible character. */
const SURROGATE = 4;
/** Variation selector 16 is invisible too, but emoji need it. */
const EMOJI_STYLE = 5;

/** The kind of each UTF-16 code unit. */
const KINDS = new Uint8Array(0x1_0000);
for (const [first, last] of UNSAFE_RANGES) KINDS.fill(UNSAFE, first, last + 1);
KINDS.fill(TAB_OR_BREAK, TAB, LINE_FEED + 1);
KINDS.fill(JOINER, 0x200c, 0x200d + 1);
KINDS.fill(SURROGATE, 0xd800, 0xdfff + 1);
KINDS[0xfe0f] = EMOJI_STYLE;

const NO = 1;
const YES = 2;

/** The characters that a pattern matches as a whole. It is asked once for each code unit, because a pattern takes long for millions. */
class CharacterSet {
  readonly #pattern: RegExp;
  /** By code unit: `YES`, `NO`, or 0 if it was not asked yet. */
  readonly #known = new Uint8Array(0x1_0000);

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  /** Whether it has the character of which this place in a text is a part. */
  has(text: string, at: number): boolean {
    const unit = text.charCodeAt(at);
    // Stryker disable next-line ConditionalExpression: what is known of a code unit only saves time
    if (KINDS[unit] === SURROGATE) {
      const start = unit < 0xdc00 ? at : at - 1;
      return this.#pattern.test(text.slice(start, start + 2));
    }
    return (this.#known[unit] ||= this.#pattern.test(text.charAt(at)) ? YES : NO) === YES;
  }
}

const JOINS_BEFORE = new CharacterSet(/[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{Mark}]/u);
const PICTOGRAPHS = new CharacterSet(/\p{Extended_Pictographic}/u);
const JOINS_AFTER = new CharacterSet(/^[\p{Extended_Pictographic}\p{Lo}]/u);

/** Code units per piece. */
const PIECE = 4096;
/** Maximum length of an escaped code unit: `\u001b`. */
const ESCAPE_LENGTH = 6;
/** Output buffer for the current piece. */
const units = new Uint16Array(PIECE * ESCAPE_LENGTH);

/**
 * Shows unsafe characters as escapes such as `\u001b`, for terminals and logs. Line breaks and tabs stay. A JSON text
 * keeps its meaning, because these characters occur only in its strings, where the escape means the same (RFC 8259,
 * section 7). A text that is already safe stays as it is.
 */
export function printable(text: string): string {
  return withEscapes(text, false);
}

/** Like `printable`, in one line: line breaks and tabs become `\n` and `\t`. */
export function printableLine(text: string): string {
  return withEscapes(text, true);
}

/** The longest message of an error that quotes a peer, in code units. An id or a name may have millions. */
const MAX_MESSAGE = 8192;

/** Like `printableLine`, for the message of an error that quotes a peer. Cut at 8,192 characters. */
export function printableMessage(text: string): string {
  return printableLine(cutText(text, MAX_MESSAGE));
}

/** Like `printableMessage`, but line breaks and tabs stay. */
export function printableLines(text: string): string {
  return printable(cutText(text, MAX_MESSAGE));
}

/** An error whose message may contain text of a peer. Its stack has the same message. */
export function printableError(message: string, options?: ErrorOptions): Error {
  return new Error(printableMessage(message), options);
}

/** A loop, because replacing each match of a pattern takes seconds for millions of matches. */
function withEscapes(text: string, inOneLine: boolean): string {
  let start = 0;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: skips what stays as it is, which only saves time
  while (start < text.length && KINDS[text.charCodeAt(start)] === SAFE) start += 1;
  // Stryker disable next-line ConditionalExpression: only saves time
  if (start === text.length) return text;
  // The byte order of every machine that runs JavaScript today.
  const decoder = new TextDecoder('utf-16le');
  let written = text.slice(0, start);
  // Stryker disable next-line EqualityOperator: an empty piece adds nothing
  for (; start < text.length; start += PIECE) {
    const length = writePiece(text, start, inOneLine);
    // If a piece ends between two surrogates, the second one is in the next piece.
    written += decoder.decode(units.subarray(0, length), { stream: true });
  }
  return written;
}

/** @returns how many code units were written. */
function writePiece(text: string, start: number, inOneLine: boolean): number {
  const end = Math.min(start + PIECE, text.length);
  let length = 0;
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    const kind = KINDS[unit];
    if (kind === TAB_OR_BREAK && inOneLine) {
      units[length++] = 0x5c;
      units[length++] = unit === TAB ? 0x74 : 0x6e;
    } else if (kind === SAFE || kind === TAB_OR_BREAK || (kind !== UNSAFE && isSafeHere(text, at, kind))) {
      units[length++] = unit;
    } else if (unit !== CARRIAGE_RETURN || text.charCodeAt(at + 1) !== LINE_FEED) {
      units[length++] = 0x5c;
      units[length++] = 0x75;
      units[length++] = hexDigit(unit >> 12);
      units[length++] = hexDigit((unit >> 8) & 15);
      units[length++] = hexDigit((unit >> 4) & 15);
      units[length++] = hexDigit(unit & 15);
    }
  }
  return length;
}

function hexDigit(value: number): number {
  return value + (value < 10 ? 0x30 : 0x57);
}

/** Whether a joiner, variation selector 16 or a surrogate is safe next to its neighbours. */
function isSafeHere(text: string, at: number, kind: number | undefined): boolean {
  if (kind === SURROGATE) return isShownPair(text, at);
  if (!followsShown(text, at, kind)) return false;
  if (kind === EMOJI_STYLE) return PICTOGRAPHS.has(text, at - 1);
  // Some letters are invisible. They are escaped, and what joins them is too.
  const joins = JOINS_AFTER.has(text, at + 1) && KINDS[text.charCodeAt(at + 1)] !== UNSAFE;
  return joins && JOINS_BEFORE.has(text, at - 1);
}

/** Whether the character before is not escaped. Only joiners may follow variation selector 16. */
function followsShown(text: string, at: number, kind: number | undefined): boolean {
  const before = KINDS[text.charCodeAt(at - 1)];
  if (before === EMOJI_STYLE) return kind === JOINER && isSafeHere(text, at - 1, EMOJI_STYLE);
  return before === SAFE || isShownPair(text, at - 1);
}

function isShownPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  const isHigh = unit < 0xdc00;
  const high = isHigh ? unit : text.charCodeAt(at - 1);
  const low = isHigh ? text.charCodeAt(at + 1) : unit;
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low <= 0xdfff && !showsNothing(high, low);
}

/** Default_Ignorable_Code_Point from U+10000 on: tags and variation selectors, marks of shorthand and of music. */
function showsNothing(high: number, low: number): boolean {
  if (high >= 0xdb40 && high <= 0xdb43) return true;
  if (high === 0xd82f) return low >= 0xdca0 && low <= 0xdca3;
  return high === 0xd834 && low >= 0xdd73 && low <= 0xdd7a;
}
