/**
 * Runs of right-to-left text. For a paragraph with n of them, a browser needs time that grows with n²: half a second for
 * 10,000. Punctuation ends a run, and so does what is shown as an escape.
 */
export const RIGHT_TO_LEFT =
  /(?:(?!\p{Cf})[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}] ?)+/gu;
/** Runs of text in scripts like Hebrew, Thai or Chinese. Each change between them and others, such as spaces, costs time, too. */
export const OTHER_SCRIPTS = /[\u0590-\uFFFF]+/g;
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
/** What a line or a run costs in a text field, and a letter of this kind. */
const LINE = 30;
const LETTER = 12;
/** The square of the marks on a letter is divided by this. */
const MARKS_PER_COST = 50;

/**
 * What it costs a browser to show a whole text in a text field: as much as a line of this many Latin letters.
 *
 * @param max what costs more need not be counted.
 */
export function costOf(text: string, max: number): number {
  if (text.length > max) return text.length;
  const runs = text.match(OTHER_SCRIPTS)?.length ?? 0;
  const letters = (text.match(JOINED_LETTERS) ?? []).reduce((sum, { length }) => sum + length, 0);
  const marks = (text.match(MARKS) ?? []).reduce((sum, { length }) => sum + length ** 2 / MARKS_PER_COST, 0);
  return marks + text.length + LINE * (runs + text.split('\n').length - 1) + (LETTER - 1) * letters;
}
