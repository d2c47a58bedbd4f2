import { derive } from '../core/derive.ts';
import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method, NotificationMethod } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { backgroundListExchange } from './background-list.ts';
import { ToolCatalog } from './tool-catalog.ts';

/** How long a question waits to learn whether its tool may run again. Milliseconds. */
const LIST_TIMEOUT = 5000;

/** Decides which requests may run again from the start if the process that asked their caller has ended. */
export type SafeToRerun = (request: Pick<Exchange, 'method' | 'params'>) => boolean;

/**
 * Learns from tool lists which requests may run again: every request except `tools/call`, and `tools/call` of a tool
 * with `readOnlyHint` or `idempotentHint`. If a tool asks a question and no list has shown it yet, the list is read
 * first.
 */
export class RerunByAnnotations {
  readonly #next: Service;
  /** Whether each tool may run again. If a list cannot be read, the next caller that asks for it sees the error. */
  readonly #tools: ToolCatalog<boolean, Caller>;

  constructor(next: Service) {
    this.#next = next;
    this.#tools = new ToolCatalog<boolean, Caller>({
      keep: safeToRerun,
      list: (params, { signal }, caller) => next(backgroundListExchange(params, caller, signal)),
      timeout: LIST_TIMEOUT,
    });
  }

  /** The service to use in place of the given one. */
  readonly service: Service = (exchange) => {
    const { method, params, caller } = exchange;
    if (method === Method.ListTools) return this.#next(exchange).then((result) => this.#tools.learn(result));
    if (method === Method.Listen) return this.#next(derive(exchange, { notify: this.#forgetting(exchange) }));
    const { name } = params as { name?: unknown };
    if (method !== Method.CallTool || typeof name !== 'string') return this.#next(exchange);
    // A request in a session cannot be resumed after the session has ended.
    if (REVISIONS[caller.revision].era !== 'modern') return this.#next(exchange);
    const ask: Exchange['ask'] = async (...question) => {
      if (this.#tools.known(name) === undefined) await this.#tools.read(name, caller);
      return exchange.ask(...question);
    };
    return this.#next(derive(exchange, { ask }));
  };

  #forgetting(exchange: Exchange): Exchange['notify'] {
    return (method, params) => {
      if (method === NotificationMethod.ToolsListChanged) this.#tools.forget();
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
