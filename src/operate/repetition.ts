/** Maximum number of lines of one kind within a window. */
const MAX_LINES = 20;
/** Length of a window in milliseconds. It starts with the first line of a kind. */
const WINDOW = 10_000;
/**
 * Maximum number of kinds at a time. All other lines count as one kind, because a peer may control the start of a line.
 */
const MAX_KINDS = 16;
/** Maximum length of the prefix that identifies a kind, in characters. */
const MAX_KIND = 80;
const OTHERS = '';

interface Seen {
  count: number;
  /** The last suppressed line. */
  last: string;
}

/**
 * Limits repeated lines to 20 of one kind in 10 seconds, then writes how many were suppressed. So a peer that repeats an
 * error cannot fill the disk. Lines are of one kind if they are equal up to the first number, quotation mark or
 * parenthesis. Does not keep the process alive.
 *
 * @param write receives a line without its newline.
 */
export function unrepeated(write: (line: string) => void): (line: string) => void {
  const kinds = new Map<string, Seen>();
  const report = (kind: string): void => {
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
      setTimeout(report, WINDOW, kind).unref();
      kinds.set(kind, seen);
    }
    seen.count += 1;
    if (seen.count <= MAX_LINES) write(line);
    else seen.last = line;
  };
}
