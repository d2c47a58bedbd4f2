/** Characters that are passed on per second. A broken server may repeat the same line endlessly. */
const MAX_IN_A_SECOND = 256 * 1024;
/** What each line counts towards this limit besides its text: writing a line takes longer than writing its text. */
const LINE_OVERHEAD = 64;
const SECOND = 1000;
/** Bytes that may be buffered for our own stderr. The parent process may never read it. */
const MAX_BEHIND = 1024 * 1024;

/**
 * Passes on a server's stderr or log, with limits on the rate and on unread bytes.
 *
 * @param write writes a line, given without its line end.
 * @param behind returns how many written bytes are not read yet.
 * @returns a function to call with each line. Without a line, it says at once how many were left out.
 */
export function stderrRelay(write: (line: string) => void, behind: () => number = () => 0): (line?: string) => void {
  let since = -Infinity;
  let passed = 0;
  let left = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const reportLater = (): void => {
    timer ??= setTimeout(() => reportLeftOut(), SECOND).unref();
  };
  const reportLeftOut = (limit = MAX_BEHIND): void => {
    clearTimeout(timer);
    timer = undefined;
    if (left === 0) return;
    if (behind() > limit) return reportLater();
    write(`(${left} lines were left out: the server wrote too much)`);
    left = 0;
  };
  return (line) => {
    if (line === undefined) return reportLeftOut(Infinity);
    const now = performance.now();
    if (now - since >= SECOND) {
      reportLeftOut();
      since = now;
      passed = 0;
    }
    passed += line.length + LINE_OVERHEAD;
    if (passed <= MAX_IN_A_SECOND && behind() <= MAX_BEHIND) return write(line);
    left += 1;
    reportLater();
  };
}
