import { Lifetime } from '../base/lifetime.ts';
import type { Exchange } from './exchange.ts';

/** The base of all exchanges, for every transport and revision. */
export abstract class BaseExchange extends Lifetime {
  #notes: Map<string, unknown> | undefined;

  /** See `Exchange.notes`. */
  get notes(): Map<string, unknown> {
    return (this.#notes ??= new Map());
  }

  /** Like `notes`, but undefined if nothing was noted. */
  get noted(): ReadonlyMap<string, unknown> | undefined {
    return this.#notes;
  }
}

/** Whether an exchange was cancelled. Like `signal.aborted`, but creates no signal if possible. */
export function isAborted(exchange: Exchange): boolean {
  return exchange instanceof Lifetime ? exchange.aborted : exchange.signal.aborted;
}

/** Why an exchange was cancelled. */
export function abortReason(exchange: Exchange): unknown {
  return exchange instanceof Lifetime ? exchange.ended : exchange.signal.reason;
}

/**
 * Adds a listener for the cancellation of an exchange. Creates no signal if possible. Not called if the exchange was
 * cancelled before.
 */
export function onAbort(exchange: Exchange, listener: () => void): void {
  if (exchange instanceof Lifetime) exchange.onAbort(listener);
  else exchange.signal.addEventListener('abort', listener);
}

/** Removes a listener that `onAbort` added. */
export function offAbort(exchange: Exchange, listener: () => void): void {
  if (exchange instanceof Lifetime) exchange.offAbort(listener);
  else exchange.signal.removeEventListener('abort', listener);
}
