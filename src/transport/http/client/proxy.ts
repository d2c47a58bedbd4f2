import * as http from 'node:http';
import * as https from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { isLoopback } from '../server/access/guards.ts';
import { NotSent } from './http.ts';

/** A proxy for requests. Its name in errors has no password. */
export interface Proxy {
  readonly name: string;
  /**
   * Whether the proxy only tunnels bytes, as for https. Otherwise the proxy itself responds: with the server's
   * response, or with its own status.
   */
  readonly tunnels: boolean;
  readonly agent: http.Agent;
}

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy'];
const KEEP_ALIVE = { keepAlive: true };
/** How long a proxy may take to open a tunnel, in milliseconds. */
const TUNNEL_TIMEOUT = 10_000;
const proxies = new Map<string, Proxy>();

/**
 * The proxy that `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` name for an address, in upper or lower case.
 * Undefined for loopback: a proxy would look for the server on its own machine. A client asks once for each URL.
 *
 * @throws NotSent if the proxy cannot be used.
 */
export async function proxyFor(url: URL): Promise<Proxy | undefined> {
  const { env } = process;
  if (!VARIABLES.some((name) => env[name] || env[name.toUpperCase()]) || isLoopback(url.hostname)) return undefined;
  const { getProxyForUrl } = await import('proxy-from-env');
  const address = getProxyForUrl(url.href);
  if (address === '') return undefined;
  const key = `${url.protocol} ${address}`;
  const known = proxies.get(key);
  if (known) return known;
  const made = await proxyAt(address, url.protocol === 'https:');
  proxies.set(key, made);
  return made;
}

async function proxyAt(address: string, secure: boolean): Promise<Proxy> {
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:') {
    throw new NotSent(`${variableFor(secure)} names a proxy that is not an http or https URL`);
  }
  const name = proxy.origin;
  if (secure) return { name, tunnels: true, agent: new TunnelAgent(proxy) };
  const { HttpProxyAgent } = await import('http-proxy-agent');
  return { name, tunnels: false, agent: new HttpProxyAgent(proxy, KEEP_ALIVE) };
}

/** Opens each connection through a tunnel of the proxy (RFC 9110, section 9.3.6). */
class TunnelAgent extends https.Agent {
  readonly #proxy: URL;

  constructor(proxy: URL) {
    super(KEEP_ALIVE);
    this.#proxy = proxy;
  }

  override createConnection(
    options: https.RequestOptions,
    done: (error: Error | null, stream?: Duplex | null) => void,
  ): undefined {
    const { auth, ...proxy } = urlToHttpOptions(this.#proxy);
    const host = options.host!;
    const path = `${isIPv6(host) ? `[${host}]` : host}:${options.port}`;
    const credentials = auth && { 'proxy-authorization': `Basic ${Buffer.from(auth).toString('base64')}` };
    const { request } = proxy.protocol === 'https:' ? https : http;
    const asking = request({
      ...proxy,
      method: 'CONNECT',
      path,
      headers: { host: path, ...credentials },
      agent: false,
    });
    // The request that needs the tunnel cannot end it: before it has a connection, its end fires no event.
    const timer = setTimeout(() => asking.destroy(new Error(`no tunnel within ${TUNNEL_TIMEOUT} ms`)), TUNNEL_TIMEOUT);
    asking.on('close', () => clearTimeout(timer));
    asking.on('error', done);
    asking.on('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return done(null, super.createConnection(Object.assign({}, options, { socket })));
      socket.destroy();
      done(refusal(statusCode));
    });
    asking.end();
  }
}

/** The environment variable that names the proxy: the first one that is set. */
function variableFor(secure: boolean): string {
  const names = [secure ? 'https_proxy' : 'http_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  return names.find((name) => process.env[name])!;
}

/**
 * Fails a request that the proxy refuses. The proxy's response is not the server's, and the server did not get the
 * request.
 */
export function watchProxy(client: http.ClientRequest, { tunnels }: Proxy): void {
  if (tunnels) return;
  client.prependListener('response', ({ statusCode }) => {
    if (statusCode === 407) client.destroy(refusal(statusCode));
  });
}

function refusal(status: number | undefined): NotSent {
  return new NotSent(
    status === 407 ? 'the proxy requires authentication (status 407)' : `the proxy refused with status ${status}`,
  );
}
