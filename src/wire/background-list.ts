import type { Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';

/**
 * A request for one page of the tool list that this side makes itself. It is made on behalf of a caller, who gets none
 * of its notifications.
 */
export function backgroundListExchange(params: JsonObject, caller: Caller, signal: AbortSignal): Exchange {
  return {
    method: Method.ListTools,
    params,
    caller,
    signal,
    // With this function the request counts as an HTTP request, so header checks on the way learn from its result too.
    header: () => undefined,
    notes: new Map(),
    notify: () => Promise.resolve(),
    ask: (method) =>
      Promise.reject(
        new RpcError(
          ErrorCode.InternalError,
          `${method} was not sent: the list request was made in the background, without a caller`,
        ),
      ),
  };
}
