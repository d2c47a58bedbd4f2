/** Callers that wait until something is idle, each with its own timeout. */
export class IdleWaiters {
  readonly #waiters = new Set<() => void>();

  /** Resolves when `settle` is called next, or after `timeout` milliseconds. */
  wait(timeout: number): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(settle);
        resolve();
      };
      const timer = setTimeout(settle, timeout);
      this.#waiters.add(settle);
    });
  }

  /** Wakes all waiters. Called when the owner becomes idle. */
  settle(): void {
    for (const settle of this.#waiters) settle();
  }
}
