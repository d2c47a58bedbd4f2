import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { checkParamHeaders } from '../core/param-headers.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { waitFor } from '../base/wait.ts';
import { backgroundListExchange } from '../wire/background-list.ts';
import { callsTool, headerCatalog } from '../wire/modern/outbound/tool-headers.ts';

/** How long reading the list of tools may take. Calls that wait for it then continue without it. Milliseconds. */
const LIST_TIMEOUT = 10_000;
/**
 * The list is read at most once in this time, whatever callers send. Otherwise each of their calls could cause many
 * requests. Milliseconds.
 */
const SETTLED = 10_000;

/**
 * A server that processes a body must check that the headers match it (2026-07-28, basic/transports/streamable-http:
 * Server Behavior for Custom Headers). A server behind a bridge cannot, because the caller's headers end at the bridge.
 * So the bridge checks them, with the tool definitions from the lists that pass through. It reads the list itself for a
 * tool that no list has shown, and if headers do not match a definition that may be out of date.
 *
 * @param service the server. All its callers must see the same tools.
 */
export function checkHeaders(service: Service): Service {
  /** When the list was last read, in the time of `performance.now()`. */
  let readAt = -Infinity;
  // Invalid definitions are not reported here: callers see them. A list that cannot be read fails when a caller
  // requests it.
  const tools = headerCatalog({
    list: (params, { signal }, caller: Caller) => service(backgroundListExchange(params, caller, signal)),
    timeout: LIST_TIMEOUT,
  });

  /** If the caller is gone, only its own wait ends, because others may wait for the same list. @throws RpcError then. */
  const read = async ({ params, caller, signal }: Exchange): Promise<void> => {
    const reading = tools.read(params['name'], caller).then(() => {
      readAt = performance.now();
    });
    try {
      await waitFor(reading, { signal });
    } catch (error) {
      throw RpcError.from(error);
    }
  };

  const learn = async (exchange: Exchange): Promise<JsonObject> => {
    const result = await service(exchange);
    tools.learn(result);
    return result;
  };

  /** Why the headers of a call are wrong. Undefined if they match, or if the tool is unknown. */
  const complaint = (exchange: Exchange): RpcError | undefined => {
    const { name, arguments: args } = exchange.params;
    const headers = tools.known(name);
    if (headers === undefined || headers instanceof Error) return undefined;
    try {
      checkParamHeaders(headers, isObject(args) ? args : {}, exchange);
      return undefined;
    } catch (error) {
      return RpcError.from(error);
    }
  };

  const checked = async (exchange: Exchange): Promise<JsonObject> => {
    if (performance.now() - readAt > SETTLED) await read(exchange);
    const wrong = complaint(exchange);
    if (wrong) throw wrong;
    return service(exchange);
  };

  return (exchange) => {
    const { method, params, header, caller } = exchange;
    if (header === undefined || REVISIONS[caller.revision].era !== 'modern') return service(exchange);
    if (method === Method.ListTools) return learn(exchange);
    if (!callsTool(method, params)) return service(exchange);
    const known = tools.known(params['name']);
    return known && !complaint(exchange) ? service(exchange) : checked(exchange);
  };
}
