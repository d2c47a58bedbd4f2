/** Milliseconds before a server is listened to again: at first, and at most. */
const FIRST_DELAY = 500;
const MAX_DELAY = 30_000;
/** A subscription that lasted this long (milliseconds) was a good one. */
const STABLE_AFTER = 5000;

/** When to listen again to a server that ended a subscription, refused it for now, or was lost. */
export class Resubscription {
  #failures = 0;
  #acknowledgedAt: number | undefined;

  acknowledged(): void {
    this.#acknowledgedAt = performance.now();
  }

  /** The subscription is over. Returns whether it is the first to fail since the last that was good. */
  ended(): boolean {
    const began = this.#acknowledgedAt;
    this.#acknowledgedAt = undefined;
    this.#failures = began !== undefined && performance.now() - began >= STABLE_AFTER ? 1 : this.#failures + 1;
    return this.#failures === 1;
  }

  /**
   * Waits before the next attempt, or until one of the signals fires. The pause doubles with each failure, and is shortened
   * at random, so that not all who lost the same server come back to it at once.
   */
  pause(...signals: readonly AbortSignal[]): Promise<void> {
    const longest = Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), MAX_DELAY);
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        for (const signal of signals) signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, longest * (0.5 + Math.random() / 2));
      for (const signal of signals) signal.addEventListener('abort', done);
      if (signals.some(({ aborted }) => aborted)) done();
    });
  }
}
