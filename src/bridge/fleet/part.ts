import { BaseExchange, abortReason, isAborted, offAbort, onAbort } from '../../core/base-exchange.ts';
import type { AskOptions, Caller, Exchange } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { Meta } from '../../protocol/methods.ts';
import { Lifetime } from '../../util/lifetime.ts';

/**
 * A request that is made of one server in the course of another: in the name of the same caller, who is asked what the
 * server asks, and is told what it says.
 */
export class PartExchange extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  /** Says whether the caller came over HTTP, and nothing else: its headers are of another request. */
  readonly header: Exchange['header'];
  readonly #whole: Exchange;
  readonly #tell: Exchange['notify'];

  /** @param tell takes what the server says. */
  constructor(whole: Exchange, method: string, params: JsonObject, tell: Exchange['notify']) {
    super();
    this.#whole = whole;
    this.#tell = tell;
    this.method = method;
    this.header = whole.header && noHeader;
    const meta = metaOf(whole.params);
    this.params = meta === undefined ? params : { _meta: meta, ...params };
  }

  get caller(): Caller {
    return this.#whole.caller;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#tell(method, params);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return this.#whole.ask(method, params, options);
  }
}

/** What a request on its way to one server has else than when it came. */
export interface Passage {
  readonly params: JsonObject;
  /** What the server says, as the caller is told it. */
  readonly outward: (method: string, params: JsonObject) => JsonObject;
  /** What the server asks, as the caller is asked it. */
  readonly question: (params: JsonObject) => JsonObject;
}

/** The caller's request, as one server is asked it. It is given up where the caller's is, and makes no signal for that. */
export class PassedExchange extends Lifetime implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  readonly #whole: Exchange;
  readonly #passage: Passage;

  constructor(whole: Exchange, passage: Passage) {
    super();
    this.method = whole.method;
    this.params = passage.params;
    this.#whole = whole;
    this.#passage = passage;
  }

  get caller(): Caller {
    return this.#whole.caller;
  }

  get header(): Exchange['header'] {
    return this.#whole.header;
  }

  get notes(): Map<string, unknown> {
    return this.#whole.notes;
  }

  override get signal(): AbortSignal {
    return this.#whole.signal;
  }

  override get aborted(): boolean {
    return isAborted(this.#whole);
  }

  override get ended(): Error | undefined {
    return abortReason(this.#whole) as Error | undefined;
  }

  override onAbort(listener: () => void): void {
    onAbort(this.#whole, listener);
  }

  override offAbort(listener: () => void): void {
    offAbort(this.#whole, listener);
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#whole.notify(method, params && this.#passage.outward(method, params));
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return this.#whole.ask(method, this.#passage.question(params), options);
  }
}

function noHeader(): undefined {
  return undefined;
}

/** What the caller says of its request, but for the token of its progress: that is not this request's. */
function metaOf({ _meta }: JsonObject): JsonObject | undefined {
  if (!isObject(_meta) || !(Meta.ProgressToken in _meta)) return isObject(_meta) ? _meta : undefined;
  const { [Meta.ProgressToken]: _, ...rest } = _meta;
  return rest;
}
