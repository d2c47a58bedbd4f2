import { NoConnection } from '../client/errors.ts';
import type { Middleware } from '../core/exchange.ts';
import { errorChain, isFromPeer, unreached } from '../jsonrpc/error-chain.ts';
import { Method } from '../protocol/methods.ts';

/**
 * Why a connection to the server could not be made. A connection that is lost later is reported by the connection
 * itself.
 */
function whyUnreached(error: unknown): Error | undefined {
  return unreached(error) ?? [...errorChain(error)].find((each) => each instanceof NoConnection);
}

/** Whether a bridge has reported this error of a request already: its server cannot be reached. */
export function isOutage(error: unknown): boolean {
  return !isFromPeer(error) && whyUnreached(error) !== undefined;
}

/** Reports once that a server cannot be reached, and once more only after it has answered a request in between. */
export class OutageReport {
  readonly #onerror: (error: Error) => void;
  #reported = false;

  constructor(onerror: (error: Error) => void) {
    this.#onerror = onerror;
  }

  readonly middleware: Middleware = (next) => async (exchange) => {
    // A description may come from a cache, and a subscription can end without a response, so neither proves that the
    // server responds.
    const provesResponse = exchange.method !== Method.Discover && exchange.method !== Method.Listen;
    try {
      const result = await next(exchange);
      if (provesResponse) this.#reported = false;
      return result;
    } catch (error) {
      const cause = whyUnreached(error);
      if (isFromPeer(error)) this.#reported = false;
      else if (cause && !this.#reported && !exchange.signal.aborted) {
        this.#reported = true;
        this.#onerror(new Error(`Requests to the server fail: ${cause.message}`, { cause: error }));
      }
      throw error;
    }
  };

  /** Called with an error that somebody else reports. */
  known(error: unknown): void {
    if (isOutage(error)) this.#reported = true;
  }
}
