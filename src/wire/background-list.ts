import type { Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';

/** A request for a page of the list of tools that no caller sent: it is made in the name of a caller, who hears nothing of it. */
export function backgroundListExchange(params: JsonObject, caller: Caller, signal: AbortSignal): Exchange {
  return {
    method: Method.ListTools,
    params,
    caller,
    signal,
    // Others on the way learn from it as from any list that is asked for over HTTP.
    header: () => undefined,
    notes: new Map(),
    notify: () => Promise.resolve(),
    ask: (method) =>
      Promise.reject(new RpcError(ErrorCode.InternalError, `${method} was not sent: nobody asked for the list`)),
  };
}
