/** Lines of one kind that are written within a window. */
const MAX_LINES = 20;
/** Milliseconds, from the first line of a kind. */
const WINDOW = 10_000;
/** Kinds that are told apart at a time; all others are one. What a line begins with may be a peer's own words. */
const MAX_KINDS = 16;
/** Characters of a line by which its kind is known. */
const MAX_KIND = 80;
const OTHERS = '';

interface Seen {
  count: number;
  /** The last line that was left out. */
  last: string;
}

/**
 * Writes lines on, but of one kind no more than 20 in 10 seconds, then how many more there were: a peer that says the same
 * wrong thing over and over fills no disk. Lines are of one kind that are the same up to the first number, quotation mark or
 * parenthesis. Does not keep the process alive.
 *
 * @param write takes a line, without its end.
 */
export function unrepeated(write: (line: string) => void): (line: string) => void {
  const kinds = new Map<string, Seen>();
  const tell = (kind: string): void => {
    const { count, last } = kinds.get(kind)!;
    kinds.delete(kind);
    const more = count - MAX_LINES;
    if (more > 0) write(`… and ${more.toLocaleString('en-US')} more within ${WINDOW / 1000} s, the last: ${last}`);
  };
  return (line) => {
    let kind = /^[^\d"'`(]*/.exec(line.slice(0, MAX_KIND))![0];
    if (!kinds.has(kind) && kinds.size >= MAX_KINDS) kind = OTHERS;
    let seen = kinds.get(kind);
    if (!seen) {
      seen = { count: 0, last: '' };
      setTimeout(tell, WINDOW, kind).unref();
      kinds.set(kind, seen);
    }
    seen.count += 1;
    if (seen.count <= MAX_LINES) write(line);
    else seen.last = line;
  };
}
