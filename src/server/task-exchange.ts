import type { AskOptions, Caller, Exchange } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import type { RunningTask } from './running-task.ts';

/** With what a task begins. */
export interface StartTaskOptions {
  /** How it stands, for people or models. */
  statusMessage?: string | undefined;
}

/** Makes a task of a call; resolves with undefined where it cannot become one and may go on as it is. */
export type Starter = (call: TaskCall, options: StartTaskOptions) => Promise<RunningTask | undefined>;

/** One call of a tool that can become a task: an ordinary request until it is one. */
export class TaskCall {
  readonly origin: Exchange;
  /** Its signal is the one that the handler sees, before and after. */
  readonly controller = new AbortController();
  readonly #starter: Starter;
  #starting: Promise<boolean> | undefined;
  #task: RunningTask | undefined;

  /** @param origin the request, as it came in. */
  constructor(origin: Exchange, starter: Starter) {
    this.origin = origin;
    this.#starter = starter;
    const { signal } = origin;
    const abort = (): void => {
      // Who began a task may leave: the task goes on.
      if (!this.#task) this.controller.abort(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }

  get task(): RunningTask | undefined {
    return this.#task;
  }

  /** Makes it a task, once; whether it is one then. @throws what the starter throws. */
  async start(options: StartTaskOptions = {}): Promise<boolean> {
    if (this.#task && options.statusMessage !== undefined) this.#task.describe(options.statusMessage);
    return (this.#starting ??= this.#start(options));
  }

  async #start(options: StartTaskOptions): Promise<boolean> {
    this.#task = await this.#starter(this, options);
    return this.#task !== undefined;
  }
}

/** What the handler of such a call sees, whichever it is by then. */
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
    // Whoever looks at a task may learn how far it is, without having asked for it in the call.
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
