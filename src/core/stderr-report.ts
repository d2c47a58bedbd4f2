/** How many errors are written within each period; those that come after them are counted. */
const MAX_WRITTEN = 20;
/** A period, in milliseconds. It begins with the first error. */
const PERIOD = 10_000;

/**
 * Writes errors that no caller can be told of to stderr: 20 in 10 seconds, and how many more there were when those are over.
 *
 * @param write where to, for tests.
 */
export function stderrReport(write: (what: unknown) => void = (what) => console.error(what)): (error: Error) => void {
  let written = 0;
  let more = 0;
  let running = false;

  const over = (): void => {
    if (more > 0) write(`${more} more errors came within ${PERIOD / 1000} seconds; "onerror" is given each of them`);
    written = more = 0;
    running = false;
  };
  return (error) => {
    if (!running) {
      running = true;
      setTimeout(over, PERIOD).unref();
    }
    if (written === MAX_WRITTEN) {
      more += 1;
      return;
    }
    written += 1;
    write(error);
  };
}
