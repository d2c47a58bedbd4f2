import type { JsonObject } from '../jsonrpc/message.ts';
import { Lifetime } from '../base/lifetime.ts';
import { abortReason, isAborted, offAbort, onAbort } from './base-exchange.ts';
import type { AskOptions, Caller, Exchange } from './exchange.ts';

/** The members of an exchange that `derive` can replace. */
export type ExchangeChanges = Partial<Pick<Exchange, 'method' | 'params' | 'caller' | 'notify' | 'ask'>>;

/** A copy of an exchange with some members replaced, for middleware and for repeated calls of one request. */
export function derive(exchange: Exchange, changes: ExchangeChanges): Exchange {
  return new DerivedExchange(exchange, changes);
}

/** Cancelled together with the original. No signal is created for this. */
class DerivedExchange extends Lifetime implements Exchange {
  readonly #original: Exchange;
  readonly #changes: ExchangeChanges;

  constructor(original: Exchange, changes: ExchangeChanges) {
    super();
    this.#original = original;
    this.#changes = changes;
  }

  get method(): string {
    return this.#changes.method ?? this.#original.method;
  }

  get params(): JsonObject {
    return this.#changes.params ?? this.#original.params;
  }

  get caller(): Caller {
    return this.#changes.caller ?? this.#original.caller;
  }

  get header(): Exchange['header'] {
    return this.#original.header;
  }

  get notes(): Map<string, unknown> {
    return this.#original.notes;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    const { notify } = this.#changes;
    return notify ? notify(method, params) : this.#original.notify(method, params);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    const { ask } = this.#changes;
    return ask ? ask(method, params, options) : this.#original.ask(method, params, options);
  }

  override get signal(): AbortSignal {
    return this.#original.signal;
  }

  override get aborted(): boolean {
    return isAborted(this.#original);
  }

  override get ended(): Error | undefined {
    return abortReason(this.#original) as Error | undefined;
  }

  override onAbort(listener: () => void): void {
    onAbort(this.#original, listener);
  }

  override offAbort(listener: () => void): void {
    offAbort(this.#original, listener);
  }
}
