import { lookup as resolve, type LookupAddress, type LookupOptions } from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP } from 'node:net';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { originOf, shown } from '../../transport/http/client/errors.ts';
import { proxyFor, TunnelAgent } from '../../transport/http/client/proxy.ts';
import { isLoopback } from '../../transport/http/server/access/guards.ts';
import { boundedBody } from '../bounded-body.ts';
import { reachOf, type Reach } from './addresses.ts';
import { OAuthError } from './oauth-error.ts';
import { waitFor } from '../../base/wait.ts';

/** Milliseconds until the whole response must have arrived. */
const TIMEOUT = 10_000;
const MAX_REDIRECTS = 3;

export interface GuardedHttpOptions {
  /**
   * The MCP server that names the addresses. A server on loopback may name loopback addresses, also over `http`. A
   * server at a private IP address may name private addresses. Every server may name public addresses.
   */
  readonly server: URL;
  /** Also allow private addresses, for a server in your own network that has a name. Default false. */
  readonly allowPrivateNetwork?: boolean | undefined;
  /**
   * Sends the requests. Default: `node:http`, which checks every address that a name resolves to. Through a proxy there
   * is no such check, because the proxy resolves the names. A custom function must do the check itself. IP addresses in
   * URLs are always checked.
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

interface Ask {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends HTTP requests to addresses that a server has named. A hostile server could name an address that only this
 * machine can reach (2026-07-28, docs tutorials/security: Server-Side Request Forgery). So only `https` is allowed, no
 * address that is less public than the server itself, and no redirect to another origin. A response may take 10 seconds
 * and be 1 MiB long.
 */
export class GuardedHttp {
  readonly #reach: ReadonlySet<Reach | undefined>;
  readonly #fetch: typeof globalThis.fetch | undefined;

  constructor({ server, allowPrivateNetwork = false, fetch }: GuardedHttpOptions) {
    // The reach of a name is undefined here; it is checked when the name is resolved.
    const reach = new Set<Reach | undefined>([undefined, 'public', literalReach(server.hostname)]);
    if (allowPrivateNetwork) reach.add('private');
    this.#reach = reach;
    this.#fetch = fetch;
  }

  /**
   * Parses a URL that came from a server.
   *
   * @param name what the URL is, for the error message.
   * @throws OAuthError `blocked`
   */
  permitted(address: unknown, name: string): URL {
    const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
    if (!url) throw new OAuthError('blocked', `${name} is not an absolute URL`);
    const refuse = (why: string): OAuthError => new OAuthError('blocked', `${name} ${originOf(url)} ${why}`);
    if (url.username !== '' || url.password !== '') throw refuse('contains credentials');
    const reach = literalReach(url.hostname);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && reach === 'loopback')) throw refuse('is not https');
    if (!this.#reach.has(reach)) throw refuse(`is ${reach}, and the server is not`);
    return url;
  }

  /**
   * GET, following redirects within the origin.
   *
   * @throws OAuthError `blocked` or `unreachable`
   */
  async get(url: URL, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Response> {
    let at = url;
    for (let hops = 0; ; hops++) {
      const response = await this.#send(at, { method: 'GET', headers: { ...headers } }, signal);
      const location = response.headers.get('location');
      if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
      const next = URL.canParse(location, at.href) ? new URL(location, at) : undefined;
      if (next?.origin !== at.origin) {
        throw new OAuthError('blocked', `${shown(at)} redirects to another origin`);
      }
      if (hops === MAX_REDIRECTS) throw new OAuthError('unreachable', `${shown(url)} redirects too many times`);
      at = next;
    }
  }

  /** A `fetch` for `oauth4webapi`. Follows no redirects. */
  readonly fetch = (
    address: string,
    init: {
      body?: string | URLSearchParams | undefined;
      headers: Record<string, string>;
      method: string;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Response> => {
    const { body, headers, method, signal } = init;
    const text = body?.toString();
    return this.#send(this.permitted(address, 'The endpoint'), { method, headers, body: text }, signal);
  };

  async #send(url: URL, ask: Omit<Ask, 'signal'>, signal?: AbortSignal): Promise<Response> {
    this.permitted(url.href, 'The address');
    const timeout = AbortSignal.timeout(TIMEOUT);
    const both = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      both.throwIfAborted();
      const asked = { ...ask, signal: both };
      // A `fetch` of the application may ignore its signal.
      return await waitFor(this.#fetch ? this.#fetched(url, asked) : this.#sent(url, asked), { signal: both });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof OAuthError) throw error;
      const why = timeout.aborted ? `no answer within ${TIMEOUT} ms` : reasonOf(error);
      // Do not keep the error as the cause. It may contain the request, and with it a secret.
      throw new OAuthError('unreachable', `${shown(url)}: ${why}`);
    }
  }

  async #fetched(url: URL, { method, headers, body, signal }: Ask): Promise<Response> {
    const response = await this.#fetch!(url.href, { method, headers, body: body ?? null, redirect: 'manual', signal });
    return responseOf(response.status, response.headers, response.body);
  }

  async #sent(url: URL, { method, headers, body, signal }: Ask): Promise<Response> {
    // A proxy resolves names itself, so only IP addresses in URLs can be checked.
    const proxy = await proxyFor(url);
    const { request } = url.protocol === 'https:' ? https : http;
    return new Promise((done, fail) => {
      const options = {
        method,
        headers,
        signal,
        agent: proxy ? new TunnelAgent(proxy) : (false as const),
        lookup: this.#lookup,
      };
      const sending = request(url, options, (reply) => {
        const head = new Headers();
        for (const [name, values] of Object.entries(reply.headersDistinct)) {
          for (const value of values!) head.append(name, value);
        }
        responseOf(reply.statusCode!, head, reply).then(done, fail);
      });
      sending.on('error', fail);
      sending.once('upgrade', (_reply, socket) => {
        socket.destroy();
        fail(new Error('the server switched to another protocol'));
      });
      sending.end(body);
    });
  }

  /** Checks each address just before the connection is made, so that a name cannot change between check and use. */
  readonly #lookup = (
    hostname: string,
    options: LookupOptions,
    callback: (error: Error | null, address: any, family?: number) => void,
  ): void => {
    resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, undefined);
      const wrong = addresses.map(({ address }) => reachOf(address)).find((reach) => !this.#reach.has(reach));
      if (wrong) return callback(new OAuthError('blocked', `${hostname} resolves to a ${wrong} address`), undefined);
      if (options.all === true) return callback(null, addresses);
      const [first] = addresses;
      return callback(null, first!.address, first!.family);
    });
  };
}

/** The reach of an IP address or a loopback name; undefined for any other name. */
function literalReach(hostname: string): Reach | undefined {
  if (isLoopback(hostname)) return 'loopback';
  const bare = hostname.replaceAll(/[[\]]/g, '');
  return isIP(bare) === 0 ? undefined : reachOf(bare);
}

async function responseOf(status: number, headers: Headers, body: AsyncIterable<Uint8Array> | null): Promise<Response> {
  const bytes = await boundedBody(body);
  if (status < 200 || status > 599) throw new Error(`status ${status}`);
  const empty = status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : bytes, { status, headers });
}

function reasonOf(error: unknown): string {
  const { code, message, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  const inner = (cause as { code?: unknown } | undefined)?.code;
  return typeof inner === 'string' ? inner : message || 'no connection';
}

/** The JSON object in a response; undefined if it has none. */
export async function jsonOf(response: Response): Promise<JsonObject | undefined> {
  const value: unknown = await response.json().catch(() => undefined);
  return isObject(value) ? value : undefined;
}
