/** Those who wait for something to be idle, each for a time of its own. */
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

  /** It is idle. */
  settle(): void {
    for (const settle of this.#waiters) settle();
  }
}
