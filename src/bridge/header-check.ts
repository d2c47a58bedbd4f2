import { isAborted, abortReason, offAbort, onAbort } from '../core/base-exchange.ts';
import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { checkParamHeaders } from '../core/param-headers.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { callsTool, ToolHeaderCache } from '../wire/modern/tool-headers.ts';
import { backgroundListExchange } from '../wire/background-list.ts';

/** Milliseconds that a page of the list of tools may take; calls that wait for it go on without it then. */
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
  readonly #tools: ToolHeaderCache;
  #reading: Promise<void> | undefined;
  /** In whose name the list is being read. */
  #reader: Caller | undefined;
  /** When the list was last read to its end, as `performance.now` has it. */
  #readAt = -Infinity;

  constructor(next: Service) {
    this.#next = next;
    // Definitions that are invalid are for the caller to judge, and a list that cannot be read shows when it is asked for.
    this.#tools = new ToolHeaderCache(
      (params) => this.#list(params),
      () => {},
    );
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
  #read(exchange: Exchange): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = (): void => reject(RpcError.from(abortReason(exchange)));
      if (isAborted(exchange)) return cancel();
      onAbort(exchange, cancel);
      this.#reading ??= this.#readList(exchange);
      void this.#reading.then(() => {
        offAbort(exchange, cancel);
        resolve();
      });
    });
  }

  /** Never rejects. */
  async #readList({ params, caller }: Exchange): Promise<void> {
    this.#reader = caller;
    await this.#tools.fetch(params['name']);
    this.#readAt = performance.now();
    this.#reading = undefined;
  }

  async #list(params: JsonObject): Promise<JsonObject> {
    const giveUp = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const expired = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const reason = new Error(`${Method.ListTools} was not answered within ${LIST_TIMEOUT} ms`);
        giveUp.abort(reason);
        reject(reason);
      }, LIST_TIMEOUT);
    });
    try {
      return await Promise.race([this.#next(backgroundListExchange(params, this.#reader!, giveUp.signal)), expired]);
    } finally {
      clearTimeout(timer);
    }
  }
}
