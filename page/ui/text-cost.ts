/**
 * Runs of right-to-left text. For a paragraph with n of them, a browser needs time that grows with n²: half a second for
 * 10,000. Punctuation ends a run, and so does what is shown as an escape.
 */
export const RIGHT_TO_LEFT =
  /(?:(?!\p{Cf})[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}] ?)+/gu;
/**
 * Letters whose forms depend on their neighbours, such as those of Arabic and Hindi, and marks on a letter, such as accents.
 * A word of n of them takes a time that grows with n².
 */
const JOINED_LETTERS = /[\u0590-\u1FFF\p{M}]+/gu;
/**
 * Marks on one letter, such as accents and vowel signs, and what changes an emoji: skin tones and tags. The time that a
 * browser needs for n of them grows with n², too, but much faster: 1,000 take up to 0.4 s.
 */
const MARKS = /[\p{M}\p{EMod}\u{E0020}-\u{E007F}]+/gu;
/** What a line or a change of script costs in a text field, and a letter of this kind. */
const LINE = 30;
const LETTER = 12;
/** The square of the marks on a letter is divided by this. */
const MARKS_PER_COST = 50;

/** Alphabets that most fonts have. Spaces and signs between their letters cost nothing, but a change to another one does. */
const LATIN = -1;
const GREEK = -2;
const CYRILLIC = -3;
const ARMENIAN = -4;

/** Apostrophes and stress marks that are letters, quotes, dashes, the ellipsis, the euro, arrows, mathematics, and boxes: a browser takes them from the font of the text. */
const SIGNS = [
  [0x02bb, 0x02c1],
  [0x02c6, 0x02c9],
  [0x02cc, 0x02d3],
  [0x2010, 0x2022],
  [0x2026, 0x2026],
  [0x2030, 0x2037],
  [0x2039, 0x203a],
  [0x20ac, 0x20ac],
  [0x2190, 0x2211],
  [0x2248, 0x2265],
  [0x2500, 0x25fc],
] as const;

/** The script of a UTF-16 code unit, roughly: less than 0 for an alphabet, 0 for signs that most fonts have. */
function scriptOf(unit: number): number {
  if (unit < 0x00c0) return (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a ? LATIN : 0;
  if (unit < 0x02b0 || (unit >= 0x1e00 && unit < 0x1f00)) return LATIN;
  if (unit >= 0x0300 && unit < 0x0370) return 0;
  // Without Coptic.
  if ((unit >= 0x0370 && unit < 0x0400 && (unit < 0x03e2 || unit > 0x03ef)) || (unit >= 0x1f00 && unit < 0x2000))
    return GREEK;
  if (unit >= 0x0400 && unit < 0x0530) return CYRILLIC;
  if (unit >= 0x0530 && unit < 0x0590) return ARMENIAN;
  if (SIGNS.some(([from, to]) => unit >= from && unit <= to)) return 0;
  // Chinese, Japanese and Korean.
  if ((unit >= 0x2e80 && unit < 0xa000) || (unit >= 0xac00 && unit < 0xd800)) return 1;
  return unit < 0xd800 || unit > 0xdfff ? unit >> 7 : unit;
}

/**
 * Where text in a script like Greek, Hebrew, Thai or Chinese begins, or changes to another one. A browser needs a time that
 * grows with the number of changes times the length of the text: 0.5 s for 5000 in 100,000 characters.
 */
export function* changesIn(text: string): Generator<number> {
  let last = 0;
  let alphabet = LATIN;
  for (let at = 0; at < text.length; at += 1) {
    const script = scriptOf(text.charCodeAt(at));
    if (script > 0 ? script !== last : script < LATIN && script !== alphabet) yield at;
    if (script < 0) alphabet = script;
    last = script;
    // The second half of a character.
    if (script >= 0xd800 && script < 0xdc00) at += 1;
  }
}

/** How often the script changes. */
export function changesOf(text: string): number {
  let changes = 0;
  for (const _ of changesIn(text)) changes += 1;
  return changes;
}

/**
 * What it costs a browser to show a whole text in a text field: as much as a line of this many Latin letters.
 *
 * @param max what costs more need not be counted.
 */
export function costOf(text: string, max: number): number {
  if (text.length > max) return text.length;
  const letters = (text.match(JOINED_LETTERS) ?? []).reduce((sum, { length }) => sum + length, 0);
  const marks = (text.match(MARKS) ?? []).reduce((sum, { length }) => sum + length ** 2 / MARKS_PER_COST, 0);
  return marks + text.length + LINE * (changesOf(text) + text.split('\n').length - 1) + (LETTER - 1) * letters;
}
