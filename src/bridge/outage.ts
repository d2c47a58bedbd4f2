import { NoConnection } from '../client/errors.ts';
import type { Middleware } from '../core/exchange.ts';
import { errorChain, isFromPeer } from '../jsonrpc/error-chain.ts';
import { Method } from '../protocol/methods.ts';

/**
 * Whether a connection to the server could not be made. A connection that is lost later is reported by the connection
 * itself.
 */
function unreached(error: unknown): Error | undefined {
  const causes: (Error & { readonly unreachable?: unknown })[] = [...errorChain(error)];
  return causes.find(({ unreachable }) => unreachable) ?? causes.find((each) => each instanceof NoConnection);
}

/** Reports once that a server cannot be reached, and once more only after it has answered a request in between. */
export function reportOutage(onerror: (error: Error) => void): Middleware {
  let reported = false;
  return (next) => async (exchange) => {
    // A description may come from a cache, and a subscription can end without a response, so neither proves that the
    // server responds.
    const provesResponse = exchange.method !== Method.Discover && exchange.method !== Method.Listen;
    try {
      const result = await next(exchange);
      if (provesResponse) reported = false;
      return result;
    } catch (error) {
      const cause = unreached(error);
      if (isFromPeer(error)) reported = false;
      else if (cause && !reported && !exchange.signal.aborted) {
        reported = true;
        onerror(new Error(`Requests to the server fail: ${cause.message}`, { cause: error }));
      }
      throw error;
    }
  };
}
