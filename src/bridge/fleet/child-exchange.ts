import { BaseExchange } from '../../core/base-exchange.ts';
import type { AskOptions, Caller, Exchange } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { Meta } from '../../protocol/methods.ts';

/** A request to one server on behalf of another request: the same caller answers the server's questions. */
export class ChildExchange extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  /** Shows whether the caller uses HTTP. The headers themselves belong to the original request. */
  readonly header: Exchange['header'];
  readonly #parent: Exchange;
  readonly #onnotification: Exchange['notify'];

  /** @param onnotification called with the server's notifications. */
  constructor(parent: Exchange, method: string, params: JsonObject, onnotification: Exchange['notify']) {
    super();
    this.#parent = parent;
    this.#onnotification = onnotification;
    this.method = method;
    this.header = parent.header && noHeader;
    const meta = metaOf(parent.params);
    this.params = meta === undefined ? params : { _meta: meta, ...params };
  }

  get caller(): Caller {
    return this.#parent.caller;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#onnotification(method, params);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return this.#parent.ask(method, params, options);
  }
}

function noHeader(): undefined {
  return undefined;
}

/** The `_meta` of the caller's request, without its progress token. */
function metaOf({ _meta }: JsonObject): JsonObject | undefined {
  if (!isObject(_meta) || !(Meta.ProgressToken in _meta)) return isObject(_meta) ? _meta : undefined;
  const { [Meta.ProgressToken]: _, ...rest } = _meta;
  return rest;
}
