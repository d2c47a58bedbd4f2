import type { ClientTransport, ServerTarget } from './target.ts';

/** Replaces `in-process.ts` in browsers. A server needs the cryptography of Node. */
export async function linkedTo(_target: ServerTarget): Promise<ClientTransport> {
  throw new TypeError('connect: a server in the same process needs Node; in a browser, connect to a URL');
}
