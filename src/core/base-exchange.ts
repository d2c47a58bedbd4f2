import { Lifetime } from '../util/lifetime.ts';
import type { Exchange } from './exchange.ts';

/** What every exchange has, whatever it came in on. */
export abstract class BaseExchange extends Lifetime {
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

/** Whether an exchange was cancelled. As `signal.aborted`, without a signal where the exchange can do without one. */
export function isAborted(exchange: Exchange): boolean {
  return exchange instanceof Lifetime ? exchange.aborted : exchange.signal.aborted;
}

/** Why an exchange was cancelled. */
export function abortReason(exchange: Exchange): unknown {
  return exchange instanceof Lifetime ? exchange.ended : exchange.signal.reason;
}

/** Calls back when an exchange is cancelled, from now on. Without a signal where it can do without one. */
export function onAbort(exchange: Exchange, listener: () => void): void {
  if (exchange instanceof Lifetime) exchange.onAbort(listener);
  else exchange.signal.addEventListener('abort', listener);
}

/** Takes back `onAbort`. */
export function offAbort(exchange: Exchange, listener: () => void): void {
  if (exchange instanceof Lifetime) exchange.offAbort(listener);
  else exchange.signal.removeEventListener('abort', listener);
}
