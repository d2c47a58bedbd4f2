import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { checkParamHeaders } from '../core/param-headers.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { waitFor } from '../base/wait.ts';
import { backgroundListExchange } from '../wire/background-list.ts';
import { callsTool, headerCatalog } from '../wire/modern/outbound/tool-headers.ts';

/** Milliseconds that reading the list of tools may take; calls that wait for it go on without it then. */
const LIST_TIMEOUT = 10_000;
/** Milliseconds in which the list is not read again, whatever callers say: each of their calls would be many requests. */
const SETTLED = 10_000;

/**
 * A server that processes a body must see that the headers say the same (2026-07-28, basic/transports/streamable-http:
 * Server Behavior for Custom Headers). A server behind a bridge cannot: what its caller said in headers ends at the bridge.
 * So the bridge checks it, by the definitions of the tools: those of the lists that come by. For a tool that no list has
 * shown, and where the headers are wrong by a definition that may be out of date, it reads the list itself.
 *
 * @param service the server; all who call it must see the same tools.
 */
export function checkHeaders(service: Service): Service {
  /** When the list was last read, as `performance.now` has it. */
  let readAt = -Infinity;
  // Definitions that are invalid are for the caller to judge, and a list that cannot be read shows when it is asked for.
  const tools = headerCatalog({
    list: (params, { signal }, caller: Caller) => service(backgroundListExchange(params, caller, signal)),
    timeout: LIST_TIMEOUT,
  });

  /** Others may wait for the same list: that a caller is gone ends its own wait alone. @throws RpcError then. */
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

  /** What is wrong with the headers of a call, as far as the tool is known. */
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
