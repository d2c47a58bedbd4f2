import { scrubber } from '../auth/scrub.ts';
import { printable } from '../base/printable.ts';

let scrub = scrubber([]);
let write = (text: string): void =>
  void process.stderr.write(`${shown(`everwire: ${text}`).replaceAll('\n', '\n  ')}\n`);

/** Makes untrusted text safe to show: removes secrets and terminal control characters. */
export function shown(text: string): string {
  return printable(scrub(text));
}

/** Prints a message to stderr, because stdout belongs to the protocol. Further lines are indented. */
export function printStatus(text: string): void {
  write(text);
}

/** Sends all further messages to a log instead. */
export function printStatusThrough(log: (text: string) => void): void {
  write = log;
}

/** Removes these secrets from all further output. */
export function scrubWith(scrubSecrets: (text: string) => string): void {
  scrub = scrubSecrets;
}
