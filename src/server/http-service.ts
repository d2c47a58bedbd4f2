import type { HttpListener, ListenOptions } from '../transport/http/server/listen.ts';
import type { Inbound } from '../wire/serve.ts';

type Listen = (options: ListenOptions) => Promise<HttpListener>;

/**
 * Listens for the clients of an inbound. Closing the listener also closes the inbound: subscriptions end, and running
 * requests have until the timeout.
 *
 * @param listen the function of `transport/http/listen.ts`, passed in so that it can be loaded lazily.
 */
export async function listenFor(inbound: Inbound, listen: Listen, options: ListenOptions): Promise<HttpListener> {
  const { onsession, onrequest } = inbound;
  const listener = await listen({ ...options, onsession, onrequest });
  return {
    ...listener,
    close: async (timeout = 5000) => {
      const deadline = performance.now() + timeout;
      listener.handler.drain();
      await inbound.close(timeout);
      await listener.close(Math.max(0, deadline - performance.now()));
    },
  };
}
