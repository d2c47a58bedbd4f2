import { maskedHead } from '../wire/masked-head.ts';

/** Headers that the connection of the recorded request had, and another one has not. */
const OF_CONNECTION = /^(?:connection|content-length|transfer-encoding|keep-alive)[ \t]*:/i;

/** The head of a recorded request, as it is offered for sending it again, and what it hides. */
export interface RawHead {
  /** Without the values that are masked. */
  readonly text: string;
  /** Puts masked values back that the user has not changed. */
  restore(text: string): string;
}

/** Makes the head of another request from a recorded one. */
export function rawHead(recorded: string): RawHead {
  const lines = recorded.split(/\r?\n/).filter((line) => line !== '' && !OF_CONNECTION.test(line));
  const masked = maskedHead(lines.join('\n')).split('\n');
  const hidden = new Map(masked.flatMap((line, at) => (line === lines[at] ? [] : [[line, lines[at]!] as const])));
  return {
    text: masked.join('\n'),
    restore: (text) =>
      text
        .split('\n')
        .map((line) => hidden.get(line) ?? line)
        .join('\n'),
  };
}
