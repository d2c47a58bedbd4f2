import { RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject, type Notification } from '../../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../../jsonrpc/pending.ts';
import type { Exchange } from '../../../core/exchange.ts';
import { Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { asksFor } from '../../../protocol/subscriptions.ts';
import type { SubscriptionFilter } from '../../../protocol/types.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Deadline } from '../../../base/deadline.ts';

/** Sends one `subscriptions/listen`. Resolves with the result that ends it. */
export type OpenSubscription = (
  lifetime: Lifetime,
  onnotification: (notification: Notification) => void,
) => Promise<JsonObject>;

export interface SubscriptionOptions {
  /** How long the server may take to acknowledge. Milliseconds; 0 for no limit. */
  readonly timeout: number;
  /** Called for each change, in addition to the exchange's own notification. */
  readonly onchange: (method: string) => void;
  readonly onerror: (error: Error) => void;
}

/**
 * Serves one `subscriptions/listen` exchange. Only notifications that were asked for get through, and none before the
 * acknowledgment.
 *
 * @returns the result with which the server ended it, or an empty result if the exchange's signal fired.
 * @throws RpcError from the server, or the reason why the stream was lost.
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
  stream.onacknowledged = (honoured) => notices.push(NotificationMethod.Acknowledged, { notifications: honoured });
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

/** One `subscriptions/listen` request. */
class Stream {
  onacknowledged!: (honoured: SubscriptionFilter) => void;
  onnotice!: (method: string, params: JsonObject) => void;
  readonly #filter: SubscriptionFilter;
  readonly #options: SubscriptionOptions;
  readonly #lifetime = new Lifetime();
  #deadline: Deadline | undefined;
  #acknowledged = false;
  /** The server has announced the end, but has not sent a response yet. */
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
    if (method === NotificationMethod.Cancelled) {
      // A server ends a subscription with this notification (2026-07-28, patterns/cancellation).
      this.#ended = true;
      return this.#lifetime.abort(new Error('The server has ended the subscription'));
    }
    if (method === NotificationMethod.Acknowledged) {
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

/** Removes the subscription id. It is the id of our own request, which means nothing to others. */
function withoutSubscription(params: JsonObject): JsonObject {
  const meta: unknown = params['_meta'];
  if (!isObject(meta) || !(Meta.SubscriptionId in meta)) return params;
  const { [Meta.SubscriptionId]: _, ...others } = meta;
  const { _meta, ...rest } = params;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}
