/** How often a process looks at the clock, and how late it may be. Milliseconds. */
const EVERY = 200;
const LATE = 500;

/**
 * Reports each time in which this process could not run, because the machine was busy or it was suspended.
 *
 * @returns ends it.
 */
export function watchStarvation(report: (from: number, until: number) => void): () => void {
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > EVERY + LATE) report(last, now);
    last = now;
  }, EVERY).unref();
  return () => clearInterval(timer);
}
