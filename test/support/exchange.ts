import type { AskOptions, Caller, Exchange } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';

export interface TestExchangeOptions {
  readonly caller?: Partial<Caller>;
  /** The headers of the HTTP request, by name in lower case. Undefined for other transports. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Answers questions. If it is undefined, they are refused. */
  readonly onask?: (method: string, params: JsonObject) => JsonObject | Promise<JsonObject>;
  /** Called for every notification, before it is recorded. */
  readonly onnotify?: (method: string, params: JsonObject | undefined) => void | Promise<void>;
}

/** An exchange without a wire. It records what the service under test sends. */
export class TestExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly caller: Caller;
  /** Every notification so far, in order. */
  readonly notified: { method: string; params: JsonObject | undefined }[] = [];
  /** Every question so far, in order. */
  readonly asked: { method: string; params: JsonObject }[] = [];
  readonly notes = new Map<string, unknown>();
  readonly header: Exchange['header'];
  readonly #options: TestExchangeOptions;
  readonly #abort = new AbortController();

  constructor(method: string, params: JsonObject = {}, options: TestExchangeOptions = {}) {
    this.method = method;
    this.params = params;
    this.#options = options;
    const { headers } = options;
    this.header = headers && ((name) => headers[name]);
    this.caller = {
      revision: '2025-11-25',
      clientInfo: undefined,
      capabilities: {},
      principal: undefined,
      auth: undefined,
      logLevel: undefined,
      session: undefined,
      ...options.caller,
    };
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(): void {
    this.#abort.abort();
  }

  async notify(method: string, params?: JsonObject): Promise<void> {
    this.notified.push({ method, params });
    await this.#options.onnotify?.(method, params);
  }

  async ask(method: string, params: JsonObject, _options?: AskOptions): Promise<JsonObject> {
    this.asked.push({ method, params });
    if (this.#options.onask === undefined) throw new Error(`nobody answers ${method}`);
    return this.#options.onask(method, params);
  }
}
