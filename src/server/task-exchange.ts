import type { AskOptions, Caller, Exchange } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import type { RunningTask } from './running-task.ts';

/** The exchange of a tool call that can become a task. Until then it is an ordinary request. */
export class TaskExchange implements Exchange {
  /** Set when the call becomes a task. */
  task: RunningTask | undefined;
  /** Its signal is the handler's signal, both before and after the call becomes a task. */
  readonly controller = new AbortController();
  readonly #origin: Exchange;

  /** @param origin the request as it was received. */
  constructor(origin: Exchange) {
    this.#origin = origin;
    const { signal } = origin;
    const abort = (): void => {
      // The task continues even if its caller disconnects.
      if (!this.task) this.controller.abort(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }

  get method(): string {
    return this.#origin.method;
  }

  get params(): JsonObject {
    const { params } = this.#origin;
    if (!this.task) return params;
    // Anyone who polls the task may see its progress, even if the call did not request progress.
    const { _meta: meta } = params;
    return { ...params, _meta: { ...(isObject(meta) ? meta : {}), [Meta.ProgressToken]: this.task.id } };
  }

  get caller(): Caller {
    return this.#origin.caller;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get notes(): Map<string, unknown> {
    return this.#origin.notes;
  }

  get header(): Exchange['header'] {
    return this.#origin.header;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return (this.task ?? this.#origin).notify(method, params);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return (this.task ?? this.#origin).ask(method, params, options);
  }
}
