import type { AskOptions, Caller, Exchange } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import type { RunningTask } from './running-task.ts';

/** What a new task starts with. */
export interface StartTaskOptions {
  /** The status message, for people or models. */
  statusMessage?: string | undefined;
}

/** Turns a call into a task. Resolves with undefined if that is not possible and the call may continue as it is. */
export type Starter = (call: TaskCall, options: StartTaskOptions) => Promise<RunningTask | undefined>;

/** One tool call that can become a task. Until then it is an ordinary request. */
export class TaskCall {
  readonly origin: Exchange;
  /** Its signal is the handler's signal, both before and after the call becomes a task. */
  readonly controller = new AbortController();
  readonly #starter: Starter;
  #starting: Promise<boolean> | undefined;
  #task: RunningTask | undefined;

  /** @param origin the request as it was received. */
  constructor(origin: Exchange, starter: Starter) {
    this.origin = origin;
    this.#starter = starter;
    const { signal } = origin;
    const abort = (): void => {
      // The task continues even if its caller disconnects.
      if (!this.#task) this.controller.abort(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }

  get task(): RunningTask | undefined {
    return this.#task;
  }

  /** Turns the call into a task, once. Returns whether it is a task then. @throws the starter's errors. */
  async start(options: StartTaskOptions = {}): Promise<boolean> {
    if (this.#task && options.statusMessage !== undefined) this.#task.describe(options.statusMessage);
    return (this.#starting ??= this.#start(options));
  }

  async #start(options: StartTaskOptions): Promise<boolean> {
    this.#task = await this.#starter(this, options);
    return this.#task !== undefined;
  }
}

/** The exchange that the handler sees, before and after the call becomes a task. */
export class TaskExchange implements Exchange {
  readonly call: TaskCall;
  readonly #params: JsonObject;

  constructor(call: TaskCall, params: JsonObject = call.origin.params) {
    this.call = call;
    this.#params = params;
  }

  get method(): string {
    return this.call.origin.method;
  }

  get params(): JsonObject {
    const { task } = this.call;
    if (!task) return this.#params;
    // Anyone who polls the task may see its progress, even if the call did not request progress.
    const { _meta: meta } = this.#params;
    return { ...this.#params, _meta: { ...(isObject(meta) ? meta : {}), [Meta.ProgressToken]: task.id } };
  }

  get caller(): Caller {
    return this.call.origin.caller;
  }

  get signal(): AbortSignal {
    return this.call.controller.signal;
  }

  get notes(): Map<string, unknown> {
    return this.call.origin.notes;
  }

  get header(): Exchange['header'] {
    return this.call.origin.header;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return (this.call.task ?? this.call.origin).notify(method, params);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return (this.call.task ?? this.call.origin).ask(method, params, options);
  }
}
