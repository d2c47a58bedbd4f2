import { peerUrl } from '../../base/peer-url.ts';
import { hasMoreKeysAndValues } from '../../jsonrpc/bounds.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { originOf, shown } from '../../transport/http/client/errors.ts';
import { fetchHttp } from '../../transport/http/client/fetch-http.ts';
import type { HttpReply, HttpRequest, HttpSend } from '../../transport/http/client/http.ts';
import { pooledHttp, type PooledHttpOptions } from '../../transport/http/client/pooled-http.ts';
import { reasonOf } from '../../transport/http/client/reason.ts';
import type { Reach } from './addresses.ts';
import { guardedLookup, literalReach } from './guarded-lookup.ts';
import { OAuthError } from './oauth-error.ts';
import { Lifetime } from '../../base/lifetime.ts';
import { waitFor } from '../../base/wait.ts';
import { firstReason } from '../first-reason.ts';

/** Milliseconds until the whole response must have arrived. */
const TIMEOUT = 10_000;
const MAX_REDIRECTS = 3;
/** The largest body of a response, in bytes. */
const MAX_BYTES = 1024 * 1024;
/** A body with more keys and values counts as empty. `JSON.parse` needs 0.2 seconds for the worst body of the largest size. */
const MAX_KEYS_AND_VALUES = 50_000;
/** The headers of a response that OAuth uses. */
const HEADERS = ['content-type', 'dpop-nonce', 'location', 'www-authenticate'];

export interface GuardedHttpOptions {
  /**
   * The MCP server that names the addresses. A server on loopback may name loopback addresses, also over `http`. A
   * server at a private IP address may name private addresses. Every server may name public addresses.
   */
  readonly server: URL;
  /** Also allow private addresses, for a server in your own network that has a name. Default false. */
  readonly allowPrivateNetwork?: boolean | undefined;
  /**
   * Sends the requests. Default: own connections, which check every address that a name resolves to. Through a proxy there
   * is no such check, because the proxy resolves the names. A custom function must do the check itself. IP addresses in
   * URLs are always checked.
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The URL of the proxy for all requests; false for none. Default: the one that the environment names. */
  readonly proxy?: string | URL | false | undefined;
}

/** The same, for requests that somebody watches. */
export interface WatchedHttpOptions extends GuardedHttpOptions {
  /** Sees the bytes of own connections. Default none. */
  readonly wiretap?: PooledHttpOptions['wiretap'];
}

type Ask = Pick<HttpRequest, 'method' | 'headers' | 'body'>;

/**
 * Sends HTTP requests to addresses that a server has named. A hostile server could name an address that only this
 * machine can reach (2026-07-28, docs tutorials/security: Server-Side Request Forgery). So only `https` is allowed, no
 * address that is less public than the server itself, and no redirect to another origin. A response may take 10 seconds
 * and be 1 MiB long.
 */
export class GuardedHttp {
  readonly #reach: ReadonlySet<Reach | undefined>;
  readonly #http: HttpSend;

  /** @param observe wraps what sends the requests, to see them and their responses. */
  constructor(
    { server, allowPrivateNetwork = false, fetch, proxy, wiretap }: WatchedHttpOptions,
    observe: (send: HttpSend) => HttpSend = (send) => send,
  ) {
    // The reach of a name is undefined here; it is checked when the name is resolved.
    const reach = new Set<Reach | undefined>([undefined, 'public', literalReach(server.hostname)]);
    if (allowPrivateNetwork) reach.add('private');
    this.#reach = reach;
    if (fetch && proxy !== undefined)
      throw new TypeError('Set only one of fetch and proxy: a fetch uses its own proxy');
    const send = fetch
      ? fetchHttp(fetch)
      : pooledHttp({ connectTimeout: TIMEOUT, lookup: guardedLookup(reach, refusal), proxy, wiretap });
    this.#http = observe(send);
  }

  /**
   * Parses a URL that came from a server.
   *
   * @param name what the URL is, for the error message.
   * @throws OAuthError `blocked`
   */
  permitted(address: unknown, name: string): URL {
    const url = typeof address === 'string' ? peerUrl(address) : undefined;
    if (!url) throw new OAuthError('blocked', `${name} is not an absolute URL`);
    const refuse = (why: string): OAuthError => new OAuthError('blocked', `${name} ${originOf(url)} ${why}`);
    if (url.username !== '' || url.password !== '') throw refuse('contains credentials');
    const reach = literalReach(url.hostname);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && reach === 'loopback')) throw refuse('is not https');
    if (!this.#reach.has(reach))
      throw refuse(`has a ${reach} address, but the server has no ${reach} address${remedyFor(reach)}`);
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
      const next = peerUrl(location, at);
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
    const ask: Ask = { method: method as Ask['method'], headers, body: text };
    return this.#send(this.permitted(address, 'The endpoint'), ask, signal);
  };

  async #send(url: URL, ask: Ask, signal?: AbortSignal): Promise<Response> {
    this.permitted(url.href, 'The address');
    const timeout = AbortSignal.timeout(TIMEOUT);
    const both = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const cancellation = new Lifetime();
    both.addEventListener('abort', () => cancellation.abort(both.reason));
    try {
      both.throwIfAborted();
      // A `fetch` of the application may ignore its signal.
      return await waitFor(this.#http({ ...ask, url, cancellation }).then(responseOf), { signal: both });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const { cause } = error as Error;
      if (cause instanceof OAuthError) throw cause;
      const why = timeout.aborted
        ? `no answer within ${TIMEOUT} ms`
        : // Stryker disable next-line StringLiteral: `reasonOf` reads the code only
          reasonOf({ name: '', message: '', code: firstReason(error as Error) });
      // Do not keep the error as the cause. It may contain the request, and with it a secret.
      throw new OAuthError('unreachable', `${shown(url)}: ${why}`);
    }
  }
}

/** The error for a name with an address that the server may not name. */
function refusal(hostname: string, reach: Reach): OAuthError {
  const why = `${hostname} resolves to a ${reach} address, but the server has no ${reach} address${remedyFor(reach)}`;
  return new OAuthError('blocked', why);
}

async function responseOf(reply: HttpReply): Promise<Response> {
  const body = await reply.text(MAX_BYTES);
  const text = hasMoreKeysAndValues(body, MAX_KEYS_AND_VALUES) ? '' : body;
  const { status } = reply;
  if (status < 200 || status > 599) throw new Error(`status ${status}`);
  const headers = HEADERS.flatMap((name): [string, string][] => {
    const value = reply.header(name);
    return value === undefined ? [] : [[name, value]];
  });
  const empty = status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : text, { status, headers });
}

/** An application can allow private addresses, but no others. */
function remedyFor(reach: Reach | undefined): string {
  return reach === 'private' ? ' (allowPrivateNetwork allows it)' : '';
}

/** The JSON object in a response; undefined if it has none. */
export async function jsonOf(response: Response): Promise<JsonObject | undefined> {
  const value: unknown = await response.json().catch(() => undefined);
  return isObject(value) ? value : undefined;
}
