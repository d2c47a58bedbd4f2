/**
 * Breaks one request off, whatever it waits for just then. As an `AbortController`, for one listener: those of the platform
 * cost a request over a kept connection as much as a third of its time.
 */
export class Cancellation {
  #aborted = false;
  #reason: unknown;
  #controller: AbortController | undefined;
  /** Called when it fires. Whoever waits next puts himself there. */
  onabort: (() => void) | undefined;

  /** Whether it has fired. */
  get aborted(): boolean {
    return this.#aborted;
  }

  /** Why, once it has fired. */
  get reason(): unknown {
    return this.#reason;
  }

  /** The same for those who need a signal. Made when first wanted. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Fires, once. */
  abort(reason: Error): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onabort?.();
  }
}
