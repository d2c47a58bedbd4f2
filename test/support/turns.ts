import { onTestFinished } from 'vitest';

/** Counts the turns of the event loop until the test is over. Returns a function that gives their number so far. */
export function countTurns(): () => number {
  let count = 0;
  const next = (): void => {
    count += 1;
    timer = setImmediate(next);
  };
  let timer = setImmediate(next);
  onTestFinished(() => clearImmediate(timer));
  return () => count;
}
