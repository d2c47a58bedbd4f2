import { Deferred } from './deferred.ts';
import { waitFor, type WaitLimits } from './wait.ts';

/** Lets callers wait for the next event of their owner, such as a change, or that it becomes idle. */
export class Waiters {
  readonly #waiting = new Set<Deferred>();

  /** Resolves when `wake` is called next, when the signal fires, or after the timeout. */
  async wait(limits: Omit<WaitLimits, 'timeoutError'>): Promise<void> {
    const woken = new Deferred();
    this.#waiting.add(woken);
    await waitFor(woken.promise, limits).catch(() => {});
    this.#waiting.delete(woken);
  }

  wake(): void {
    for (const woken of this.#waiting) woken.resolve();
    this.#waiting.clear();
  }
}
