import type { Transport } from '../transport.ts';
import type { StdioServerOptions } from './server.ts';

/** Replaces `server.ts` in workers, which have no stdin. */
export function stdioServerTransport(_options: StdioServerOptions = {}): Transport {
  throw new Error('stdio() needs Node, Deno or Bun: in a worker, export the fetch of the server');
}
