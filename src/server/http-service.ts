import type { HttpListener, ListenOptions } from '../transport/http/listen.ts';
import type { Inbound } from '../wire/serve.ts';

type Listen = (options: ListenOptions) => Promise<HttpListener>;

/**
 * Listens for the clients of an inbound. Closing the listener closes the inbound: subscriptions end, and what is being
 * answered has until the timeout.
 *
 * @param listen that of `transport/http/listen.ts`, for whoever loads it late.
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
