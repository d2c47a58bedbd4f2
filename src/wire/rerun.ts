import { derive } from '../core/derive.ts';
import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { backgroundListExchange } from './background-list.ts';

/** Milliseconds that a question waits until it is known of its tool whether it may run again. */
const LIST_TIMEOUT = 5000;
/** Pages of a list that are read, and tools that are remembered. */
const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;

/** Which requests may run again, from the start, where the process that asked their caller is gone. */
export type SafeToRerun = (request: Pick<Exchange, 'method' | 'params'>) => boolean;

/**
 * Learns from the lists of tools that pass by which requests may run again: all but calls of tools, and calls of tools with
 * `readOnlyHint` or `idempotentHint`. If a tool asks that no list has shown, the list is read first.
 *
 * @returns the service to use in place of the given one, and what was learned.
 */
export function rerunByAnnotations(service: Service): { readonly service: Service; readonly safeToRerun: SafeToRerun } {
  const known = new KnownTools(service);
  return { service: known.service, safeToRerun: known.safeToRerun };
}

class KnownTools {
  readonly #next: Service;
  /** Whether each may run again. */
  readonly #tools = new Map<string, boolean>();
  #reading: Promise<void> | undefined;

  constructor(next: Service) {
    this.#next = next;
  }

  readonly service: Service = (exchange) => {
    const { method, params, caller } = exchange;
    if (method === Method.ListTools) return this.#list(exchange);
    const { name } = params as { name?: unknown };
    if (method !== Method.CallTool || typeof name !== 'string') return this.#next(exchange);
    // In a session there is nothing that could be taken up after it.
    if (REVISIONS[caller.revision].era !== 'modern') return this.#next(exchange);
    const ask: Exchange['ask'] = async (...question) => {
      if (!this.#tools.has(name)) await this.#read(caller);
      return exchange.ask(...question);
    };
    return this.#next(derive(exchange, { ask }));
  };

  readonly safeToRerun: SafeToRerun = ({ method, params }) => {
    if (method !== Method.CallTool) return true;
    return this.#tools.get(params['name']) ?? false;
  };

  async #list(exchange: Exchange): Promise<JsonObject> {
    const result = await this.#next(exchange);
    const tools: unknown = result['tools'];
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (isObject(tool) && typeof tool['name'] === 'string') this.#learn(tool['name'], tool['annotations']);
    }
    return result;
  }

  #learn(name: string, annotations: unknown): void {
    const { readOnlyHint, idempotentHint } = isObject(annotations) ? annotations : {};
    this.#tools.delete(name);
    this.#tools.set(name, readOnlyHint === true || idempotentHint === true);
    if (this.#tools.size <= MAX_TOOLS) return;
    const [oldest] = this.#tools.keys();
    this.#tools.delete(oldest!);
  }

  /** Never rejects, and takes only so long. */
  #read(caller: Caller): Promise<void> {
    this.#reading ??= this.#readList(caller)
      .catch(() => {
        // It shows when somebody asks for the list; until then its tools do not run again.
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #readList(caller: Caller): Promise<void> {
    const giveUp = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const expired = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const reason = new Error(`tools/list was not answered within ${LIST_TIMEOUT} ms`);
        giveUp.abort(reason);
        reject(reason);
      }, LIST_TIMEOUT);
    });
    try {
      await Promise.race([this.#readPages(caller, giveUp.signal), expired]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #readPages(caller: Caller, signal: AbortSignal): Promise<void> {
    let params: JsonObject = {};
    for (let page = 0; page < MAX_PAGES && !signal.aborted; page += 1) {
      const result = await this.#list(backgroundListExchange(params, caller, signal));
      const cursor: unknown = result['nextCursor'];
      if (typeof cursor !== 'string') return;
      params = { cursor };
    }
  }
}
