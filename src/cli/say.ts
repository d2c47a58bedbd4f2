import { printable } from '../operate/printable.ts';

let write = (line: string): void => void process.stderr.write(`everwire: ${printable(line)}\n`);

/** One line for the person at the terminal. Stdout belongs to the protocol. */
export function say(line: string): void {
  write(line);
}

/** Has all that is said from now on go to a log instead. */
export function sayThrough(log: (line: string) => void): void {
  write = log;
}
