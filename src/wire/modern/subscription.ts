import { RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject, type Notification } from '../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import type { Exchange } from '../../core/exchange.ts';
import { Meta, Method, Notice } from '../../protocol/methods.ts';
import { asksFor } from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { NoticeQueue } from '../notice-queue.ts';
import { Lifetime } from '../../util/lifetime.ts';
import { Deadline } from '../../util/deadline.ts';

/** Sends one `subscriptions/listen`; resolves with the result that ends it. */
export type OpenSubscription = (
  lifetime: Lifetime,
  onnotification: (notification: Notification) => void,
) => Promise<JsonObject>;

export interface SubscriptionOptions {
  /** Milliseconds that the server may take to acknowledge; 0 for ever. */
  readonly timeout: number;
  /** Hears of each change, whoever else does. */
  readonly onchange: (method: string) => void;
  readonly onerror: (error: Error) => void;
}

/**
 * Serves one `subscriptions/listen` exchange. Only what was asked for gets through, and nothing before the acknowledgment.
 *
 * @returns what the server ended it with, or an empty result where the exchange's signal fired.
 * @throws RpcError as sent by the server, or why the stream was lost.
 */
export async function subscribe(
  exchange: Exchange,
  open: OpenSubscription,
  options: SubscriptionOptions,
): Promise<JsonObject> {
  const { signal } = exchange;
  const notices = new NoticeQueue(exchange, options.onerror);
  const filter: SubscriptionFilter = isObject(exchange.params['notifications']) ? exchange.params['notifications'] : {};
  const stream = new Stream(filter, options);
  stream.onacknowledged = (honoured) => notices.push(Notice.Acknowledged, { notifications: honoured });
  stream.onnotice = (method, params) => {
    options.onchange(method);
    notices.push(method, params);
  };
  try {
    return withoutSubscription(await stream.run(open, signal));
  } catch (error) {
    if (signal.aborted) return {};
    throw RpcError.from(error);
  } finally {
    notices.flush();
  }
}

/** One request of a subscription. */
class Stream {
  onacknowledged!: (honoured: SubscriptionFilter) => void;
  onnotice!: (method: string, params: JsonObject) => void;
  readonly #filter: SubscriptionFilter;
  readonly #options: SubscriptionOptions;
  readonly #lifetime = new Lifetime();
  #deadline: Deadline | undefined;
  #acknowledged = false;
  /** The server has said that it ends it, without a response so far. */
  #ended = false;

  constructor(filter: SubscriptionFilter, options: SubscriptionOptions) {
    this.#filter = filter;
    this.#options = options;
  }

  async run(open: OpenSubscription, signal: AbortSignal): Promise<JsonObject> {
    const cancel = (): void => this.#lifetime.abort(RpcError.from(signal.reason));
    signal.addEventListener('abort', cancel);
    this.#deadline = new Deadline({ timeout: this.#options.timeout, maxTimeout: 0 }, (limit) =>
      this.#lifetime.abort(
        new RpcError(REQUEST_TIMEOUT, `Request timed out: ${Method.Listen} was not acknowledged within ${limit} ms`),
      ),
    );
    try {
      return await open(this.#lifetime, (notification) => this.#receive(notification));
    } catch (error) {
      if (this.#ended) return {};
      throw this.#lifetime.ended ?? error;
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#deadline.clear();
    }
  }

  #receive({ method, params = {} }: Notification): void {
    if (this.#lifetime.ended) return;
    if (method === Notice.Cancelled) {
      // 2026-07-28, patterns/cancellation: a server ends by it what it was to tell.
      this.#ended = true;
      return this.#lifetime.abort(new Error('The server has ended the subscription'));
    }
    if (method === Notice.Acknowledged) {
      if (this.#acknowledged) return;
      this.#acknowledged = true;
      this.#deadline?.clear();
      return this.onacknowledged(isObject(params['notifications']) ? params['notifications'] : {});
    }
    if (!asksFor(this.#filter, method, params)) return;
    if (!this.#acknowledged) {
      return this.#options.onerror(
        new Error(`${method} came before the subscription was acknowledged: it was ignored`),
      );
    }
    this.onnotice(method, withoutSubscription(params));
  }
}

/** The id of a subscription is that of a request of ours: nobody else knows it. */
function withoutSubscription(params: JsonObject): JsonObject {
  const meta: unknown = params['_meta'];
  if (!isObject(meta) || !(Meta.SubscriptionId in meta)) return params;
  const { [Meta.SubscriptionId]: _, ...others } = meta;
  const { _meta, ...rest } = params;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}
