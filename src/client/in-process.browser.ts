import type { Service } from '../core/exchange.ts';
import type { ClientTransport } from './target.ts';

/** Replaces `in-process.ts` in browsers. A server needs the cryptography of Node. */
export async function linkedTo(_service: Service): Promise<ClientTransport> {
  throw new TypeError('connect: a server in the same process needs Node; in a browser, connect to a URL');
}
