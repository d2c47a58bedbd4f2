import { printableError } from '../../../base/printable.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject, Notification } from '../../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../../jsonrpc/pending.ts';
import type { Exchange } from '../../../core/exchange.ts';
import { Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { asksFor, filterIn, requestedPart } from '../../../protocol/subscriptions.ts';
import { withoutMeta } from '../../meta.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Deadline } from '../../../base/deadline.ts';
import { quoting } from '../../../base/short-text.ts';

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
 * Serves one `subscriptions/listen` exchange. Only notifications that were asked for are passed on, and none before the
 * acknowledgment. The subscription id is removed: it belongs to this side's own request and means nothing to others.
 *
 * @returns the result with which the server ended it, or an empty result if the exchange's signal fired.
 * @throws RpcError from the server, or the reason why the stream was lost.
 */
export async function subscribe(
  exchange: Exchange,
  open: OpenSubscription,
  { timeout, onchange, onerror }: SubscriptionOptions,
): Promise<JsonObject> {
  const { signal } = exchange;
  const filter = filterIn(exchange.params);
  const notices = new NoticeQueue(exchange, onerror);
  const lifetime = new Lifetime();
  let acknowledged = false;
  /** The server has announced the end, but has not sent a response yet. */
  let ended = false;
  const cancel = (): void => lifetime.abort(RpcError.from(signal.reason));
  const deadline = new Deadline({ timeout, maxTimeout: 0 }, (limit) => {
    const message = `Request timed out: ${Method.Listen} was not acknowledged within ${limit} ms`;
    lifetime.abort(new RpcError(REQUEST_TIMEOUT, message));
  });
  const receive = ({ method, params = {} }: Notification): void => {
    if (lifetime.ended) return;
    if (method === NotificationMethod.Cancelled) {
      // A server ends a subscription with this notification (2026-07-28, patterns/cancellation).
      ended = true;
      lifetime.abort(new Error('The server has ended the subscription'));
    } else if (method === NotificationMethod.Acknowledged) {
      if (acknowledged) return;
      acknowledged = true;
      deadline.clear();
      // It comes first, and is never dropped.
      void exchange.notify(method, { notifications: requestedPart(filter, filterIn(params)) });
    } else if (!asksFor(filter, method, params)) {
      return;
    } else if (acknowledged) {
      onchange(method);
      notices.push(method, withoutMeta(params, Meta.SubscriptionId));
    } else onerror(printableError(quoting`${method} came before the subscription was acknowledged: it was ignored`));
  };
  signal.addEventListener('abort', cancel);
  try {
    return withoutMeta(await open(lifetime, receive), Meta.SubscriptionId);
  } catch (error) {
    if (ended || signal.aborted) return {};
    throw RpcError.from(lifetime.ended ?? error);
  } finally {
    signal.removeEventListener('abort', cancel);
    deadline.clear();
    notices.flush();
  }
}
