import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { peerUrl } from '../../../base/peer-url.ts';
import { isLoopback } from '../server/access/guards.ts';
import { NotSent } from './http.ts';

/**
 * A proxy for requests. Through a tunnel, as for https, only bytes pass. Otherwise the proxy itself responds: with the
 * server's response, or with its own status.
 */
export interface Proxy {
  /** Its name in errors, without a password. */
  readonly name: string;
  readonly url: URL;
  /** The value of `Proxy-Authorization`. */
  readonly authorization: string | undefined;
}

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy'];

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
  const proxy = proxyAt(address);
  if (!proxy) throw new NotSent(`${variableFor(url)} names a proxy that is not an http or https URL`);
  return proxy;
}

/** The proxy at an address, which may contain a user and a password. Undefined if it is not an http or https URL. */
function proxyAt(address: string | URL): Proxy | undefined {
  const url = peerUrl(String(address));
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
  return { name: url.origin, url, authorization: basicAuthorization(url) };
}

/**
 * Finds the proxy for each URL.
 *
 * @param given the proxy for all URLs, or false for none. Default: the one that the environment names.
 * @throws TypeError if it cannot be used.
 */
export function proxies(given: string | URL | false | undefined): (url: URL) => Promise<Proxy | undefined> {
  if (given === undefined) return proxyFor;
  const proxy = given === false ? undefined : proxyAt(given);
  if (given !== false && !proxy) throw new TypeError('proxy must be an http or https URL, or false');
  return () => Promise.resolve(proxy);
}

/** The value of `Authorization` for the user and the password in a URL. Undefined if it has none. */
export function basicAuthorization(url: URL): string | undefined {
  const { auth } = urlToHttpOptions(url);
  return auth ? `Basic ${Buffer.from(auth).toString('base64')}` : undefined;
}

/** Opens a tunnel through a proxy to a server (RFC 9110, section 9.3.6). Destroying the request ends this. */
export function openTunnel(
  { url, authorization }: Proxy,
  server: URL,
  done: (error: Error | null, socket?: Socket) => void,
): http.ClientRequest {
  const path = `${server.hostname}:${server.port || 443}`;
  const { protocol, hostname, port } = urlToHttpOptions(url);
  const connecting = (protocol === 'https:' ? https : http).request({
    protocol,
    hostname,
    port,
    // Otherwise Node would expect a certificate for the name in the Host header, which is the server's.
    servername: isIP(hostname!) === 0 ? hostname! : '',
    method: 'CONNECT',
    path,
    headers: { host: path, ...(authorization && { 'proxy-authorization': authorization }) },
    agent: false,
  });
  connecting.on('error', done);
  connecting.on('connect', ({ statusCode }, socket) => {
    if (statusCode === 200) return done(null, socket);
    socket.destroy();
    done(refusal(statusCode));
  });
  return connecting.end();
}

/** The environment variable that names the proxy: the first one that is set. */
function variableFor({ protocol }: URL): string {
  const names = [`${protocol.slice(0, -1)}_proxy`, 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
  return names.find((name) => process.env[name])!;
}

/** The error for a request that the proxy refuses. The server did not get the request. */
export function refusal(status: number | undefined): NotSent {
  return new NotSent(
    status === 407 ? 'the proxy requires authentication (status 407)' : `the proxy refused with status ${status}`,
  );
}
