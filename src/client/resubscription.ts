import { pause } from '../base/wait.ts';

/** Milliseconds before the next subscription: the first pause, and the longest. */
const FIRST_DELAY = 500;
const MAX_DELAY = 30_000;
/** After a subscription that lasted this long (milliseconds), pauses start again from the first. */
const STABLE_AFTER = 5000;

/** The pauses between subscriptions, if the server ends them, is lost or has problems. */
export class Resubscription {
  #failures = 0;
  #acknowledgedAt: number | undefined;

  acknowledged(): void {
    this.#acknowledgedAt = performance.now();
  }

  /** Called when a subscription has ended. Returns whether it is the first failure since a subscription that lasted. */
  ended(): boolean {
    const began = this.#acknowledgedAt;
    this.#acknowledgedAt = undefined;
    this.#failures = began !== undefined && performance.now() - began >= STABLE_AFTER ? 1 : this.#failures + 1;
    return this.#failures === 1;
  }

  /**
   * Waits before the next attempt, or until one of the signals fires. The pause doubles with each failure. It is
   * shortened by a random amount, so that the clients of one server do not all return at once.
   */
  pause(...signals: readonly AbortSignal[]): Promise<void> {
    const longest = Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), MAX_DELAY);
    return pause(longest * (0.5 + Math.random() / 2), AbortSignal.any([...signals]));
  }
}
