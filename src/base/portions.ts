import { nextTurn } from './wait.ts';

/** How many are done in one turn of the event loop. */
const PER_TURN = 500;

/**
 * Does something for each of many. The event loop runs in between, so that others need not wait for all of them. The
 * first 500 are done before this returns.
 */
export async function inPortions<T>(all: Iterable<T>, run: (each: T) => void): Promise<void> {
  let count = 0;
  for (const each of all) {
    if (count > 0 && count % PER_TURN === 0) await nextTurn();
    run(each);
    count += 1;
  }
}
