import { scrubber } from '../auth/scrub.ts';
import { printable } from '../base/printable.ts';
import { shortText } from '../base/short-text.ts';

/**
 * The most text of a question or of an error that is shown, in characters. A terminal takes seconds for a million lines, and until
 * then Ctrl-C does nothing.
 */
export const MAX_TEXT = 65_536;

let scrub = scrubber([]);
let write = (text: string): void =>
  void process.stderr.write(`${shown(`everwire: ${text}`).replaceAll('\n', '\n  ')}\n`);

/** Makes untrusted text safe to show: removes secrets and terminal control characters. */
export function shown(text: string): string {
  return printable(scrub(text));
}

/** Prints a message to stderr, because stdout belongs to the protocol. Further lines are indented. It is cut at 65,536 characters. */
export function printStatus(text: string): void {
  write(shortText(text, MAX_TEXT));
}

/** Sends all further messages to a log instead. */
export function printStatusThrough(log: (text: string) => void): void {
  write = log;
}

/** Removes these secrets from all further output. */
export function scrubWith(scrubSecrets: (text: string) => string): void {
  scrub = scrubSecrets;
}
