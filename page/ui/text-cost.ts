/**
 * Runs of right-to-left text. For a paragraph with n of them, a browser needs time that grows with n²: half a second for
 * 10,000. Punctuation ends a run, and so does what is shown as an escape.
 */
export const RIGHT_TO_LEFT =
  /(?:(?!\p{Cf})[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}] ?)+/gu;
/** What a line or such a run costs. */
const LINE = 30;

/**
 * What it costs a browser to show a whole text in a text field: as much as a line of this many characters.
 *
 * @param max what costs more need not be counted: the pattern fails on a run of millions of characters.
 */
export function costOf(text: string, max: number): number {
  if (text.length > max) return text.length;
  return text.length + LINE * ((text.match(RIGHT_TO_LEFT)?.length ?? 0) + text.split('\n').length - 1);
}
