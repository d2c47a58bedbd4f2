import { Deferred } from '../../../base/deferred.ts';
import type { Exchange } from '../../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { quoting } from '../../../base/short-text.ts';
import { waitFor } from '../../../base/wait.ts';
import type { Attribution } from './attribution.ts';
import { canAsk, type CallsInFlight } from './calls-in-flight.ts';

/** How long a question that comes outside of calls waits for a call that can carry it. Milliseconds. */
const EARLY_QUESTION = 30_000;

/** For a connection whose calls all come from one client. Unattributed messages belong to the newest call. */
export class OneClient implements Attribution {
  readonly #calls: CallsInFlight;
  readonly #listener: () => Exchange | undefined;
  /** Questions that wait for the next call that can carry them. */
  readonly #early = new Set<Deferred<Exchange>>();

  /** @param listener returns the newest `subscriptions/listen` of the connection. */
  constructor(calls: CallsInFlight, listener: () => Exchange | undefined) {
    this.#calls = calls;
    this.#listener = listener;
  }

  /** The newest call that can carry the question. If there is none, the newest subscription, or else the next call. */
  question(signal: AbortSignal, method: string): Exchange | Promise<Exchange> {
    const call = this.#calls.newestAskable;
    if (call) return call.exchange;
    const listener = this.#listener();
    return listener && canAsk(listener) ? listener : this.#nextCall(signal, method);
  }

  message(): Exchange | undefined {
    return (this.#calls.only ?? this.#calls.newestWanting)?.exchange;
  }

  began(exchange: Exchange): void {
    if (canAsk(exchange)) for (const next of this.#early) next.resolve(exchange);
  }

  /**
   * Some servers send a question as soon as the session is open. A caller without a session gets it with its first
   * call.
   */
  async #nextCall(signal: AbortSignal, method: string): Promise<Exchange> {
    const next = new Deferred<Exchange>();
    this.#early.add(next);
    try {
      const timeoutError = (): RpcError =>
        new RpcError(ErrorCode.InternalError, quoting`No client is connected to answer ${method}`);
      return await waitFor(next.promise, { signal, timeout: EARLY_QUESTION, timeoutError });
    } finally {
      this.#early.delete(next);
    }
  }
}
