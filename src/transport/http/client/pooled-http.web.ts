import { fetchHttp } from './fetch-http.ts';
import type { HttpSend } from './http.ts';
import type { PooledHttpOptions } from './pooled-http.ts';

/** Replaces `pooled-http.ts` in browsers and workers, which have `fetch`. */
export function pooledHttp({ proxy, wiretap }: PooledHttpOptions = {}): HttpSend {
  if (proxy) throw new TypeError('connect: "proxy" needs Node');
  if (wiretap) throw new TypeError('connect: "wiretap" needs Node');
  return fetchHttp();
}
