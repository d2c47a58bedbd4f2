import { Deferred } from '../base/deferred.ts';
import { Method } from '../protocol/methods.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';
import { ConnectionError } from './errors.ts';
import type { Change } from './handlers.ts';
import type { RequestOptions } from './options.ts';
import type { Requester } from './requester.ts';

/**
 * A subscription to changes. It lasts until the client closes it or the server refuses it. If the server ends the
 * stream or the connection is lost, the client subscribes again after a growing pause, from half a second to half a
 * minute. It reports one error to `onerror` for all its subscriptions. A command is started again only by the next
 * call. After each gap the handler gets a change for everything in `filter`, because all of it may have changed.
 */
export interface Subscription {
  /** The filter that the server agreed to. It leaves out what the server does not support. */
  readonly filter: SubscriptionFilter;
  /**
   * Resolves when the subscription has ended: with the refusal that ended it, or with undefined if the client closed
   * it. Never rejects.
   */
  readonly closed: Promise<Error | undefined>;
  /** Ends the subscription. Resolves when it has ended. */
  close(): Promise<void>;
}

/**
 * Opens a subscription. Resolves when the server has acknowledged it.
 *
 * @throws as any request does: if there is no connection, the server refuses, or it does not acknowledge in time.
 */
export async function openSubscription(
  requester: Requester,
  filter: SubscriptionFilter,
  handler: (change: Change) => unknown,
  { signal, timeout }: Pick<RequestOptions, 'signal' | 'timeout'> = {},
): Promise<Subscription> {
  const ending = new AbortController();
  const end = (): void => ending.abort(signal?.aborted ? signal.reason : new ConnectionError('Unsubscribed'));
  signal?.throwIfAborted();
  signal?.addEventListener('abort', end, { once: true });
  let honoured: SubscriptionFilter | undefined;
  const agreed = new Deferred();

  // The time limit includes making a connection.
  const limits = { ...requester.limits({ timeout }), maxTimeout: 0, signal: ending.signal };
  const call = requester.newCall(Method.Listen, { notifications: filter }, limits, {
    onchange: handler,
    onacknowledged: (accepted) => {
      honoured = accepted;
      call.hold();
      agreed.resolve();
    },
  });
  const over = requester.run(call, requester.listen).finally(() => signal?.removeEventListener('abort', end));
  const closed = over.then(
    () => undefined,
    (error: Error) => (ending.signal.aborted ? undefined : error),
  );
  await Promise.race([agreed.promise, over]);
  const close = async (): Promise<void> => {
    end();
    await closed;
  };
  return {
    get filter() {
      return honoured ?? {};
    },
    closed,
    close,
  };
}
