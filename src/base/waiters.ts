import { waitFor, type WaitLimits } from './wait.ts';

/** Lets callers wait for the next event of their owner, such as a change, or that it becomes idle. */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  /** Resolves when `wake` is called next, when the signal fires, or after the timeout. */
  async wait(limits: Omit<WaitLimits, 'timeoutError'>): Promise<void> {
    let wake!: () => void;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#waiting.add(wake);
    await waitFor(woken, limits).catch(() => {});
    this.#waiting.delete(wake);
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
