import type * as http from 'node:http';
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
const proxies = new Map<string, Proxy>();

/**
 * The proxy that `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` name for an address, in upper or lower case.
 * Undefined for loopback: a proxy would look for the server on its own machine.
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
  if (secure) {
    const { HttpsProxyAgent } = await import('https-proxy-agent');
    return { name, tunnels: true, agent: new HttpsProxyAgent(proxy, KEEP_ALIVE) };
  }
  const { HttpProxyAgent } = await import('http-proxy-agent');
  return { name, tunnels: false, agent: new HttpProxyAgent(proxy, KEEP_ALIVE) };
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
  const refuse = (status: number | undefined): void => {
    client.destroy(
      new NotSent(
        status === 407 ? 'the proxy requires authentication (status 407)' : `the proxy refused with status ${status}`,
      ),
    );
  };
  if (tunnels) {
    client.on('proxyConnect', ({ statusCode }: { statusCode: number }) => {
      if (statusCode !== 200) refuse(statusCode);
    });
  } else {
    client.prependListener('response', ({ statusCode }) => {
      if (statusCode === 407) refuse(statusCode);
    });
  }
}
