import { nextTurn } from './wait.ts';

/** How many are done in one turn of the event loop, and how long that may take at most, in milliseconds. */
const PER_TURN = 500;
const MAX_TIME = 20;

/**
 * Does something for each of many. The event loop runs in between, so that others need not wait for all of them. The
 * first ones are done before this returns. If `run` returns a promise, the next one waits for it.
 *
 * @param all may grow and shrink meanwhile.
 * @throws (rejects) the first error of `run`. The rest is not done then.
 */
export async function inTurns<T>(all: Iterable<T>, run: (each: T) => void | Promise<void>): Promise<void> {
  let count = 0;
  let since = performance.now();
  for (const each of all) {
    const working = run(each);
    if (working) await working;
    count += 1;
    if (count < PER_TURN && performance.now() - since < MAX_TIME) continue;
    await nextTurn();
    count = 0;
    since = performance.now();
  }
}

/** The same values. The event loop runs in between, also if all of them are there already. */
export async function* throughTurns<T>(all: AsyncIterable<T>): AsyncGenerator<T, void> {
  let count = 0;
  let since = performance.now();
  for await (const each of all) {
    yield each;
    count += 1;
    if (count < PER_TURN && performance.now() - since < MAX_TIME) continue;
    await nextTurn();
    count = 0;
    since = performance.now();
  }
}

/** Does something for each value that is added, in turns of the event loop and in order. */
export class TurnQueue<T> {
  readonly #run: (each: T) => void | Promise<void>;
  readonly #waiting = new Set<T>();
  #running = false;

  /** @param run must not fail. */
  constructor(run: (each: T) => void | Promise<void>) {
    this.#run = run;
  }

  /** How many values wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a value, unless it waits already. */
  add(each: T): void {
    this.#waiting.add(each);
    if (!this.#running) void this.#work();
  }

  async #work(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0)
      await inTurns(this.#waiting, (each) => {
        this.#waiting.delete(each);
        return this.#run(each);
      });
    this.#running = false;
  }
}
