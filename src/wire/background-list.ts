import type { Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';

/**
 * A request for one page of the tool list that no caller sent. It is made on behalf of a caller, who gets no
 * notifications of it.
 */
export function backgroundListExchange(params: JsonObject, caller: Caller, signal: AbortSignal): Exchange {
  return {
    method: Method.ListTools,
    params,
    caller,
    signal,
    // Other parts on the way learn from this list as from any list requested over HTTP.
    header: () => undefined,
    notes: new Map(),
    notify: () => Promise.resolve(),
    ask: (method) =>
      Promise.reject(
        new RpcError(ErrorCode.InternalError, `${method} was not sent: this list was read in the background`),
      ),
  };
}
