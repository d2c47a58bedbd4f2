import type { Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';

/**
 * What nobody asked for but the bridge, a page of the list of tools if nothing else: in the name of a caller, who does not
 * hear of it.
 */
export function listing(params: JsonObject, caller: Caller, signal: AbortSignal): Exchange {
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
