import { abortController } from './abort-controller.ts';
import { allowManyListeners } from './many-listeners.ts';

/**
 * The lifetime of an exchange, a session or an outgoing request. It ends with one reason, and signals that by an
 * `AbortSignal`. The signal is created on first use, because creating one costs up to a third of the time of a request on
 * a kept connection.
 */
export class Lifetime {
  #controller: AbortController | undefined;
  #ended: Error | undefined;
  /** The first listener. It needs no signal, and most calls have only this one. */
  #listener: (() => void) | undefined;

  /** The reason for its end; undefined while it is alive. */
  get ended(): Error | undefined {
    return this.#ended;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = abortController();
      // One request to many servers adds a listener for each of them.
      allowManyListeners(this.#controller.signal);
      if (this.#ended) this.#controller.abort(this.#ended);
    }
    return this.#controller.signal;
  }

  /** Like `signal.aborted`, without creating the signal. */
  get aborted(): boolean {
    return this.#controller ? this.#controller.signal.aborted : this.#ended !== undefined;
  }

  /** Adds a listener for a later abort. */
  onAbort(listener: () => void): void {
    if (this.#listener) this.signal.addEventListener('abort', listener);
    else this.#listener = listener;
  }

  /** Removes a listener that `onAbort` added. */
  offAbort(listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#controller?.signal.removeEventListener('abort', listener);
  }

  /** Ends it and fires the signal. Does nothing if it has ended. */
  abort(reason: Error): void {
    if (!this.#ended) this.fire(reason);
  }

  /** Ends it without firing an existing signal. A signal that is created later is already aborted. */
  protected settle(reason: Error): void {
    this.#ended = reason;
  }

  /** Ends it and fires the signal, even after `settle`. */
  protected fire(reason: Error): void {
    this.#ended = reason;
    const listener = this.#listener;
    this.#listener = undefined;
    this.#controller?.abort(reason);
    listener?.();
  }
}
