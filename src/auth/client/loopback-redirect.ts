import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { peerUrl } from '../../base/peer-url.ts';
import { waitFor } from '../../base/wait.ts';
import { checkIssuer } from './authorization-code.ts';
import { OAuthError } from './oauth-error.ts';
import type { AuthorizationRequest, LoginAttempt, RedirectHandler } from './redirect.ts';

/** How to open the browser, and how long to wait for the user. */
export interface LoopbackOptions {
  /**
   * Shows the URL to the user, for example `openBrowser`. If it throws, the login fails with the same error. It may
   * resolve with a URL: the address that a browser on another machine was redirected to, as the user entered it.
   *
   * @param signal fires when the login is over.
   */
  readonly open: (url: URL, signal: AbortSignal) => unknown;
  /**
   * Milliseconds to wait for the user. 0 means no limit of its own: only the general login limit applies. Default 300
   * 000.
   */
  readonly timeout?: number | undefined;
  /**
   * A redirect URI that the client is registered with, on `127.0.0.1` or `localhost`:
   * `http://localhost:8080/callback`. Default: `127.0.0.1` and a free port.
   */
  readonly redirectUri?: string | undefined;
  /** Path of the redirect URI, if there is no `redirectUri`. Default `/callback`. */
  readonly path?: string | undefined;
  /** The heading of the page, usually the application's name. Default none. */
  readonly title?: string | undefined;
}

/** The hosts of redirect URIs that a server on 127.0.0.1 can receive. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost']);

/** Maximum size of a request head in bytes. The URL in it contains the code. */
const MAX_HEAD = 32 * 1024;

/**
 * Logs the user in with a browser on this machine. The browser returns to a server on 127.0.0.1 (RFC 8252, section 7.3).
 * The server listens only during the login, at a free port or at the port of a registered redirect URI. A request with a
 * wrong `state` gets 400 and the wait continues, because any web page can send one.
 *
 * A login fails with OAuthError: `timeout`, or `issuer_mismatch` if another issuer responds.
 *
 * @throws TypeError if this machine cannot receive the redirect URI.
 */
export function loopbackRedirect(options: LoopbackOptions): RedirectHandler {
  if (options.redirectUri !== undefined) checkLoopback(options.redirectUri);
  return { start: (registered) => LoopbackLogin.open(options, registered) };
}

/**
 * The same, for whoever has to see also the responses that a login ignores or refuses.
 *
 * @param onanswer gets the parameters of each request to the redirect URI while the login waits.
 */
export function observedRedirect(
  options: LoopbackOptions,
  onanswer: (answer: URLSearchParams) => void,
): RedirectHandler {
  if (options.redirectUri !== undefined) checkLoopback(options.redirectUri);
  return { start: (registered) => LoopbackLogin.open(options, registered, onanswer) };
}

/** A request that still waits for the browser to return with the response. */
interface Waiting {
  readonly request: AuthorizationRequest;
  resolve(answer: URLSearchParams): void;
  reject(error: Error): void;
}

type OnAnswer = (answer: URLSearchParams) => void;

class LoopbackLogin implements LoginAttempt {
  readonly redirectUri: string;
  readonly #options: LoopbackOptions;
  readonly #path: string;
  readonly #server: Server;
  readonly #onanswer: OnAnswer | undefined;
  #waiting: Waiting | undefined;

  private constructor(options: LoopbackOptions, redirectUri: string, server: Server, onanswer: OnAnswer | undefined) {
    this.#options = options;
    this.#onanswer = onanswer;
    this.#path = new URL(redirectUri).pathname;
    this.#server = server;
    this.redirectUri = redirectUri;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  static async open(
    options: LoopbackOptions,
    registered: readonly string[],
    onanswer?: OnAnswer,
  ): Promise<LoopbackLogin> {
    const { path = '/callback', redirectUri } = options;
    if (redirectUri !== undefined) {
      const port = Number(new URL(redirectUri).port || 80);
      const server = await listenAt(port).catch((error: NodeJS.ErrnoException) => {
        const why = error.code === 'EADDRINUSE' ? 'another program uses the port' : error.message;
        throw new OAuthError('authorization', `The login cannot return to ${redirectUri}: ${why}`, { cause: error });
      });
      return new LoopbackLogin(options, redirectUri, server, onanswer);
    }
    for (const uri of registered) {
      const { hostname, pathname, port } = new URL(uri);
      if (!LOOPBACK.has(hostname) || pathname !== path) continue;
      // Another process may use the port now.
      const server = await listenAt(Number(port || 80)).catch(() => undefined);
      if (server) return new LoopbackLogin(options, uri, server, onanswer);
    }
    const server = await listenAt(0);
    const { port } = server.address() as AddressInfo;
    return new LoopbackLogin(options, `http://127.0.0.1:${port}${path}`, server, onanswer);
  }

  async authorize(request: AuthorizationRequest): Promise<URLSearchParams> {
    const { timeout = 300_000, open } = this.#options;
    const { url, signal } = request;
    signal.throwIfAborted();
    const timeoutError = (): Error => new OAuthError('timeout', `The login was not finished within ${timeout} ms`);
    const over = new AbortController();
    const answer = new Promise<URLSearchParams>((resolve, reject) => {
      this.#waiting = { request, resolve, reject };
      Promise.resolve(url)
        .then((address) => open(address, over.signal))
        .then((entered) => {
          if (!(entered instanceof URL)) return;
          this.#onanswer?.(entered.searchParams);
          resolve(entered.searchParams);
        })
        .catch(reject);
    });
    try {
      return await waitFor(answer, { signal, timeout, timeoutError });
    } finally {
      this.#waiting = undefined;
      over.abort();
    }
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    // Give the response time to arrive, but do not wait for a browser that keeps its connection open.
    const forced = setTimeout(() => this.#server.closeAllConnections(), 500);
    await closed;
    clearTimeout(forced);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = peerUrl(request.url ?? '', this.redirectUri);
    if (url?.pathname !== this.#path) return this.#show(response, 404, 'Not found.');
    if (request.method !== 'GET') return this.#show(response, 405, 'Only GET is allowed.');
    // A different host name that resolves to this address is an attack (DNS rebinding).
    if (request.headers.host !== new URL(this.redirectUri).host) return this.#show(response, 403, 'Wrong host name.');
    const waiting = this.#waiting;
    const answer = url.searchParams;
    if (waiting) this.#onanswer?.(answer);
    if (!waiting || answer.get('state') !== waiting.request.state) {
      return this.#show(response, 400, 'This login is no longer active. Start it again in the program that began it.');
    }
    try {
      checkIssuer(answer, waiting.request.issuer, false);
    } catch (error) {
      this.#show(response, 400, 'This response came from another server and was ignored.');
      return waiting.reject(error as Error);
    }
    const text = answer.has('error') ? 'You were not signed in.' : 'You are signed in.';
    this.#show(response, 200, `${text} You can close this page.`);
    return waiting.resolve(answer);
  }

  #show(response: ServerResponse, status: number, text: string): void {
    const title = escaped(this.#options.title ?? 'Login');
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      // The URL contains the code.
      'referrer-policy': 'no-referrer',
      connection: 'close',
    });
    response.end(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
        '<body style="font:1.2rem system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem;text-align:center">' +
        `<h1>${title}</h1><p>${escaped(text)}</p></body></html>`,
    );
  }
}

/** A server on 127.0.0.1. */
async function listenAt(port: number): Promise<Server> {
  const server = createServer({ maxHeaderSize: MAX_HEAD, requestTimeout: 10_000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

/** @throws TypeError if a server on 127.0.0.1 cannot receive the redirect. */
function checkLoopback(redirectUri: string): void {
  const { protocol, hostname } = peerUrl(redirectUri) ?? { protocol: '', hostname: '' };
  if (protocol === 'http:' && LOOPBACK.has(hostname)) return;
  throw new TypeError(`redirectUri must begin with http://127.0.0.1 or http://localhost: ${redirectUri}`);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
