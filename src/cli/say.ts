import { scrubber } from '../auth/scrub.ts';
import { printable } from '../core/printable.ts';

let scrub = scrubber([]);
let write = (text: string): void =>
  void process.stderr.write(`${shown(`everwire: ${text}`).replaceAll('\n', '\n  ')}\n`);

/** A text from outside that is safe to show: without secrets and without characters that control a terminal. */
export function shown(text: string): string {
  return printable(scrub(text));
}

/** Tells the person at the terminal something; further lines are indented. Stdout belongs to the protocol. */
export function say(text: string): void {
  write(text);
}

/** Has all that is said from now on go to a log instead. */
export function sayThrough(log: (text: string) => void): void {
  write = log;
}

/** Takes secrets out of all that is shown from now on. */
export function scrubWith(scrubSecrets: (text: string) => string): void {
  scrub = scrubSecrets;
}
