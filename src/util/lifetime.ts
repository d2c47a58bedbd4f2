/**
 * How long something lasts: an exchange, a session, a request that is sent. It is over for one reason, and tells so through
 * an `AbortSignal`, which is made when somebody first wants it: one of the platform's costs a request over a kept
 * connection as much as a third of its time.
 */
export class Lifetime {
  #controller: AbortController | undefined;
  #ended: Error | undefined;
  /** The first who listens needs no signal for it: in the middle of a call that is all there is. */
  #listener: (() => void) | undefined;

  /** Why it is over; undefined while it lasts. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended);
    }
    return this.#controller.signal;
  }

  /** As that of the signal, which is not made for it. */
  get aborted(): boolean {
    return this.#controller ? this.#controller.signal.aborted : this.#ended !== undefined;
  }

  /** Calls back when it is aborted, from now on. */
  onAbort(listener: () => void): void {
    if (this.#listener) this.signal.addEventListener('abort', listener);
    else this.#listener = listener;
  }

  /** Takes back `onAbort`. */
  offAbort(listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#controller?.signal.removeEventListener('abort', listener);
  }

  /** Ends it, and the signal fires. Nothing happens where it is over. */
  abort(reason: Error): void {
    if (!this.#ended) this.fire(reason);
  }

  /** Ends it quietly: who works on it need not hear of it. A signal that is first wanted later has fired. */
  protected settle(reason: Error): void {
    this.#ended = reason;
  }

  /** Ends it, and the signal fires, even if it has ended quietly before. */
  protected fire(reason: Error): void {
    this.#ended = reason;
    const listener = this.#listener;
    this.#listener = undefined;
    this.#controller?.abort(reason);
    listener?.();
  }
}
