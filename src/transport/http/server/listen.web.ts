import type { HttpListener, ListenOptions } from './listen.ts';

/** Replaces `listen.ts` in workers, which have no sockets that listen. */
export async function listen(_options: ListenOptions): Promise<HttpListener> {
  throw new Error('listen() needs Node, Deno or Bun: in a worker, export the fetch of the server');
}
