import { derive } from '../core/derive.ts';
import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method, Notice } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { backgroundListExchange } from './background-list.ts';
import { ToolCatalog } from './tool-catalog.ts';

/** Milliseconds that a question waits until it is known of its tool whether it may run again. */
const LIST_TIMEOUT = 5000;

/** Which requests may run again, from the start, where the process that asked their caller is gone. */
export type SafeToRerun = (request: Pick<Exchange, 'method' | 'params'>) => boolean;

/**
 * Learns from the lists of tools that pass by which requests may run again: all but calls of tools, and calls of tools with
 * `readOnlyHint` or `idempotentHint`. If a tool asks that no list has shown, the list is read first.
 *
 * @returns the service to use in place of the given one, and what was learned.
 */
export function rerunByAnnotations(service: Service): { readonly service: Service; readonly safeToRerun: SafeToRerun } {
  const known = new Rerunnable(service);
  return { service: known.service, safeToRerun: known.safeToRerun };
}

class Rerunnable {
  readonly #next: Service;
  /** Whether each may run again. A list that cannot be read shows when somebody asks for it. */
  readonly #tools: ToolCatalog<boolean, Caller>;

  constructor(next: Service) {
    this.#next = next;
    this.#tools = new ToolCatalog<boolean, Caller>({
      keep: safeToRerun,
      list: (params, { signal }, caller) => next(backgroundListExchange(params, caller, signal)),
      timeout: LIST_TIMEOUT,
    });
  }

  readonly service: Service = (exchange) => {
    const { method, params, caller } = exchange;
    if (method === Method.ListTools) return this.#next(exchange).then((result) => this.#tools.learn(result));
    if (method === Method.Listen) return this.#next(derive(exchange, { notify: this.#forgetting(exchange) }));
    const { name } = params as { name?: unknown };
    if (method !== Method.CallTool || typeof name !== 'string') return this.#next(exchange);
    // In a session there is nothing that could be taken up after it.
    if (REVISIONS[caller.revision].era !== 'modern') return this.#next(exchange);
    const ask: Exchange['ask'] = async (...question) => {
      if (this.#tools.known(name) === undefined) await this.#tools.read(name, caller);
      return exchange.ask(...question);
    };
    return this.#next(derive(exchange, { ask }));
  };

  #forgetting(exchange: Exchange): Exchange['notify'] {
    return (method, params) => {
      if (method === Notice.ToolsListChanged) this.#tools.forget();
      return exchange.notify(method, params);
    };
  }

  readonly safeToRerun: SafeToRerun = ({ method, params }) => {
    if (method !== Method.CallTool) return true;
    return this.#tools.known(params['name']) ?? false;
  };
}

function safeToRerun({ annotations }: JsonObject): boolean {
  const { readOnlyHint, idempotentHint } = isObject(annotations) ? annotations : {};
  return readOnlyHint === true || idempotentHint === true;
}
