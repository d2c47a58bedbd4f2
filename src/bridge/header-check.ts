import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { checkParamHeaders } from '../core/param-headers.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { waitFor } from '../base/wait.ts';
import { backgroundListExchange } from '../wire/background-list.ts';
import { callsTool, headerCatalog, type ToolHeaders } from '../wire/modern/outbound/tool-headers.ts';
import type { ToolCatalog } from '../wire/tool-catalog.ts';

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
  return new HeaderCheck(service).service;
}

class HeaderCheck {
  readonly #next: Service;
  readonly #tools: ToolCatalog<ToolHeaders, Caller>;
  /** When the list was last read, as `performance.now` has it. */
  #readAt = -Infinity;

  constructor(next: Service) {
    this.#next = next;
    // Definitions that are invalid are for the caller to judge, and a list that cannot be read shows when it is asked for.
    this.#tools = headerCatalog({
      list: (params, { signal }, caller) => next(backgroundListExchange(params, caller, signal)),
      timeout: LIST_TIMEOUT,
    });
  }

  readonly service: Service = (exchange) => {
    const { method, params, header, caller } = exchange;
    if (header === undefined || REVISIONS[caller.revision].era !== 'modern') return this.#next(exchange);
    if (method === Method.ListTools) return this.#learn(exchange);
    if (!callsTool(method, params)) return this.#next(exchange);
    const known = this.#tools.known(params['name']);
    return known && !this.#complaint(exchange) ? this.#next(exchange) : this.#checked(exchange);
  };

  async #learn(exchange: Exchange): Promise<JsonObject> {
    const result = await this.#next(exchange);
    this.#tools.learn(result);
    return result;
  }

  async #checked(exchange: Exchange): Promise<JsonObject> {
    if (performance.now() - this.#readAt > SETTLED) await this.#read(exchange);
    const complaint = this.#complaint(exchange);
    if (complaint) throw complaint;
    return this.#next(exchange);
  }

  /** What is wrong with the headers of a call, as far as the tool is known. */
  #complaint(exchange: Exchange): RpcError | undefined {
    const { name, arguments: args } = exchange.params;
    const headers = this.#tools.known(name);
    if (headers === undefined || headers instanceof Error) return undefined;
    try {
      checkParamHeaders(headers, isObject(args) ? args : {}, exchange);
      return undefined;
    } catch (error) {
      return RpcError.from(error);
    }
  }

  /** Others may wait for the same list: that a caller is gone ends its own wait alone. @throws RpcError then. */
  async #read({ params, caller, signal }: Exchange): Promise<void> {
    const reading = this.#tools.read(params['name'], caller).then(() => {
      this.#readAt = performance.now();
    });
    try {
      await waitFor(reading, { signal });
    } catch (error) {
      throw RpcError.from(error);
    }
  }
}
