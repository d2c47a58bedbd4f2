import { TurnQueue } from '../../base/in-turns.ts';
import { nextTurn } from '../../base/wait.ts';

/** Starting a process blocks the event loop until the system has loaded the command: often for 5 ms, under load for 50. */
const starts = new TurnQueue<() => void>(async (start) => {
  start();
  await nextTurn();
});

/**
 * Runs a function that starts a process, at most one in each turn of the event loop, so that many starts do not delay
 * everything else. If none waits, it runs at once.
 */
export function inStartTurn<T>(start: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    starts.add(() => {
      try {
        resolve(start());
      } catch (error) {
        reject(error);
      }
    });
  });
}
