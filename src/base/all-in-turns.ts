import { inTurns } from './in-turns.ts';

/** Starts something for each of many, like `inTurns`, and waits for all. @throws (rejects) the first error, as `Promise.all`. */
export async function allInTurns<T>(all: Iterable<T>, start: (each: T) => Promise<unknown> | undefined): Promise<void> {
  const started: Promise<unknown>[] = [];
  await inTurns(all, (each) => {
    const one = start(each);
    // Nobody waits for it yet in the next turns.
    one?.catch(() => {});
    if (one) started.push(one);
  });
  await Promise.all(started);
}
