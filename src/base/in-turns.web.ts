/**
 * Replaces `in-turns.ts` in workers. There, a turn of the event loop belongs to one request and may never come, and the
 * platform limits the time that a request computes.
 */
export async function inTurns<T>(all: Iterable<T>, run: (each: T) => void | Promise<void>): Promise<void> {
  for (const each of all) {
    const working = run(each);
    if (working) await working;
  }
}

export class TurnQueue<T> {
  readonly #run: (each: T) => void | Promise<void>;

  constructor(run: (each: T) => void | Promise<void>) {
    this.#run = run;
  }

  get size(): number {
    return 0;
  }

  add(each: T): void {
    void this.#run(each);
  }
}
