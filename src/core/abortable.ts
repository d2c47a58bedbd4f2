import type { Exchange } from './exchange.ts';

/** What can be given up, and tells so by a signal that is made when somebody first wants it: it is not free. */
export abstract class Abortable {
  #controller: AbortController | undefined;
  #ended: Error | undefined;
  /** The first who listens needs no signal for it: in the middle of a call that is all there is. */
  #listener: (() => void) | undefined;

  /** Why it is over, if it is. */
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

  /** Calls back when it is given up, from now on. */
  onAbort(listener: () => void): void {
    if (this.#listener) this.signal.addEventListener('abort', listener);
    else this.#listener = listener;
  }

  /** The listener need not hear of it any more. */
  offAbort(listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#controller?.signal.removeEventListener('abort', listener);
  }

  /** It is over, and who works on it need not hear of that: the signal does not fire, unless it is first wanted later. */
  protected settle(reason: Error): void {
    this.#ended = reason;
  }

  /** It is over, and the signal fires. */
  protected fire(reason: Error): void {
    this.#ended = reason;
    const listener = this.#listener;
    this.#listener = undefined;
    this.#controller?.abort(reason);
    listener?.();
  }
}

/** What all that is made for one request has, whatever it came in on. */
export abstract class AbortableExchange extends Abortable {
  #notes: Map<string, unknown> | undefined;

  /** See `Exchange.notes`. */
  get notes(): Map<string, unknown> {
    return (this.#notes ??= new Map());
  }

  /** As `notes`, where there are any. */
  get noted(): ReadonlyMap<string, unknown> | undefined {
    return this.#notes;
  }
}

/** Whether an exchange was given up. As `signal.aborted`, without a signal where the exchange can do without one. */
export function isAborted(exchange: Exchange): boolean {
  return exchange instanceof Abortable ? exchange.aborted : exchange.signal.aborted;
}

/** Why an exchange was given up. */
export function abortReason(exchange: Exchange): unknown {
  return exchange instanceof Abortable ? exchange.ended : exchange.signal.reason;
}

/** Calls back when an exchange is given up, from now on. Without a signal where it can do without one. */
export function onAbort(exchange: Exchange, listener: () => void): void {
  if (exchange instanceof Abortable) exchange.onAbort(listener);
  else exchange.signal.addEventListener('abort', listener);
}

/** Takes back `onAbort`. */
export function offAbort(exchange: Exchange, listener: () => void): void {
  if (exchange instanceof Abortable) exchange.offAbort(listener);
  else exchange.signal.removeEventListener('abort', listener);
}

/** Settles as the work does, or resolves when the signal fires, if that is sooner. */
export async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  let stop!: () => void;
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
