import type { LookupFunction } from 'node:net';
import type { Wiretap } from '../../wiretap.ts';
import { CLOSED, ConnectionPool, type Connection } from './connection.ts';
import { shown } from './errors.ts';
import { exchange, type Target } from './exchange.ts';
import type { HttpReply, HttpRequest, HttpSend } from './http.ts';
import { basicAuthorization, proxies } from './proxy.ts';

export interface PooledHttpOptions {
  /** The limit for name resolution, connection and TLS together. Milliseconds, default 10 000; 0 for no limit. */
  readonly connectTimeout?: number;
  /** The largest size of the response headers, in bytes. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** Resolves the names of servers. Default: `dns.lookup`. */
  readonly lookup?: LookupFunction | undefined;
  /** The proxy for all requests, or false for none. Default: the one that the environment names for each URL. */
  readonly proxy?: string | URL | false | undefined;
  /** Sees the bytes of each connection, decrypted. Default none. */
  readonly wiretap?: Wiretap | undefined;
}

/** For how many origins connections are kept. A hostile server could name very many authorization servers. */
const MAX_ORIGINS = 8;

/**
 * Sends requests over connections that are kept for further requests: each idle one for half the time that the server
 * says, at most 10 minutes, or 2.5 seconds. Those of the newest 8 origins are kept.
 *
 * @throws TypeError if the proxy is not an http or https URL.
 */
export function pooledHttp(options: PooledHttpOptions = {}): HttpSend {
  const { connectTimeout = 10_000, maxHeaderBytes = 16 * 1024 } = options;
  const proxyFor = proxies(options.proxy);
  const pools = new Map<string, ConnectionPool>();
  const connections = new Set<Connection>();
  const targets = new WeakMap<URL, Target>();

  const prepare = async (request: HttpRequest): Promise<HttpReply> => {
    const { url } = request;
    const { protocol, origin, host, pathname, search, href } = url;
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(`${shown(url)} is not an http or https URL`);
    const proxy = await proxyFor(url);
    const settings = { ...options, origin, proxy, connectTimeout, maxHeaderBytes };
    const pool = pools.get(origin) ?? new ConnectionPool(settings, connections);
    pools.set(origin, pool);
    if (pools.size > MAX_ORIGINS) {
      const [oldest] = pools.values();
      pools.delete(oldest!.options.origin);
      oldest!.retire();
    }
    const headers: Record<string, string> = { host, 'accept-encoding': 'identity' };
    const authorization = basicAuthorization(url);
    if (authorization !== undefined) headers['authorization'] = authorization;
    const forwarded = proxy !== undefined && protocol === 'http:';
    if (forwarded && proxy.authorization !== undefined) headers['proxy-authorization'] = proxy.authorization;
    const path = (forwarded ? `http://${host}` : '') + pathname + search;
    const target: Target = { href, pool, path, headers };
    targets.set(url, target);
    return exchange(request, target);
  };
  const send = (request: HttpRequest): Promise<HttpReply> => {
    const { url } = request;
    const target = targets.get(url);
    return target?.href === url.href && !target.pool.retired ? exchange(request, target) : prepare(request);
  };
  const close = (): void => {
    for (const connection of connections) connection.end(CLOSED);
  };
  return Object.assign(send, { close });
}
