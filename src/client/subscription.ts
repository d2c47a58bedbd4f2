import { Method } from '../protocol/methods.ts';
import type { SubscriptionFilter } from '../protocol/types.ts';
import type { Upstream } from '../wire/upstream.ts';
import { ConnectionError } from './errors.ts';
import type { Change } from './handlers.ts';
import type { RequestOptions } from './options.ts';
import type { Requester } from './requester.ts';

/**
 * Changes that a client hears of, until it or the server ends that. Where the connection is lost it goes on with the next
 * one, which a command gets with the next call; what changed in the meantime is not heard.
 */
export interface Subscription {
  /** What the server agreed to tell of: it leaves out what it does not support. */
  readonly filter: SubscriptionFilter;
  /** Resolves when it is over: with the error that ended it, if it was one. Never rejects. */
  readonly closed: Promise<Error | undefined>;
  /** Ends it; resolves when it is over. */
  close(): Promise<void>;
}

/**
 * Opens a subscription; resolves when the server has agreed to it.
 *
 * @throws as any request does, where there is no connection, or the server refuses or does not agree, in time.
 */
export async function openSubscription(
  requester: Requester,
  filter: SubscriptionFilter,
  handler: (change: Change) => void,
  { signal, timeout }: Pick<RequestOptions, 'signal' | 'timeout'> = {},
): Promise<Subscription> {
  const ending = new AbortController();
  const end = (): void => ending.abort(signal?.aborted ? signal.reason : new ConnectionError('Unsubscribed'));
  signal?.throwIfAborted();
  signal?.addEventListener('abort', end, { once: true });
  let honoured: SubscriptionFilter | undefined;
  let agree!: () => void;
  const agreed = new Promise<void>((resolve) => {
    agree = resolve;
  });

  /** The connection that it went over last. */
  let upstream: Upstream | undefined;

  const listenOnce = async (): Promise<void> => {
    const limits = { ...requester.limits({ timeout }), maxTimeout: 0, signal: ending.signal };
    const call = requester.newCall(Method.Listen, { notifications: filter }, limits, {
      onchange: handler,
      onacknowledged: (accepted) => {
        honoured = accepted;
        call.stayOpen();
        agree();
      },
    });
    // The limits are those of the connection that may have to be made, too.
    await requester.run(call, async (exchange) => {
      upstream = await requester.link.connect();
      exchange.signal.throwIfAborted();
      return requester.service(exchange);
    });
  };

  const listen = async (): Promise<void> => {
    const { link } = requester;
    const isOver = (one: Upstream): boolean => one.closed || link.current !== one;
    for (;;) {
      try {
        return await listenOnce();
      } catch (error) {
        const goesOn =
          error instanceof ConnectionError && honoured && upstream !== undefined && isOver(upstream) && link.usable;
        if (!goesOn || ending.signal.aborted) throw error;
      }
      await link.next(upstream!, ending.signal);
    }
  };

  const over = listen().finally(() => signal?.removeEventListener('abort', end));
  const closed = over.then(
    () => undefined,
    (error: Error) => (ending.signal.aborted ? undefined : error),
  );
  await Promise.race([agreed, over]);
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
