import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTimer, type Timer } from '../../util/timer.ts';
import { checkIssuer } from './authorization-code.ts';
import { OAuthError } from './oauth-error.ts';
import type { AuthorizationRequest, LoginAttempt, RedirectHandler } from './redirect.ts';

/** How the user is sent to a browser, and how long they are waited for. */
export interface LoopbackOptions {
  /** Shows the user an address, in a browser or in words: `openBrowser`. Where it throws, so does the login. */
  readonly open: (url: URL) => unknown;
  /** Milliseconds for which the user is waited for; 0 for as long as a login may take. Default 300 000. */
  readonly timeout?: number | undefined;
  /** Path of the redirect URI. Default `/callback`. */
  readonly path?: string | undefined;
  /** What the page says above all: the application's name. Default none. */
  readonly title?: string | undefined;
}

/** Bytes of the head of a request, whose address holds the code. */
const MAX_HEAD = 32 * 1024;

/**
 * A user at a browser on this machine, who comes back to a server on 127.0.0.1 (RFC 8252, section 7.3). The server listens
 * at a port that the system picks, or at that of a redirect URI which the client is registered with, for as long as the
 * visit takes. What comes with another `state` is answered with 400, and waited on: any page could send it.
 *
 * A visit fails with OAuthError: `timeout`, or `issuer_mismatch` where another issuer has answered.
 */
export function loopbackRedirect(options: LoopbackOptions): RedirectHandler {
  return { start: (registered) => LoopbackLogin.open(options, registered) };
}

class LoopbackLogin implements LoginAttempt {
  readonly redirectUri: string;
  readonly #options: LoopbackOptions;
  readonly #path: string;
  readonly #server: Server;
  #waiting:
    | { readonly request: AuthorizationRequest; readonly done: (answer: URLSearchParams | Error) => void }
    | undefined;

  private constructor(options: LoopbackOptions, path: string, server: Server) {
    this.#options = options;
    this.#path = path;
    this.#server = server;
    this.redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  static async open(options: LoopbackOptions, registered: readonly string[]): Promise<LoopbackLogin> {
    const { path = '/callback' } = options;
    const ports = registered
      .map((uri) => new URL(uri))
      .filter((url) => url.hostname === '127.0.0.1' && url.pathname === path);
    for (const port of [...ports.map((url) => Number(url.port)), 0]) {
      const server = createServer({ maxHeaderSize: MAX_HEAD, requestTimeout: 10_000 });
      try {
        await new Promise<void>((resolve, reject) => {
          server.once('error', reject);
          server.listen(port, '127.0.0.1', resolve);
        });
        return new LoopbackLogin(options, path, server);
      } catch (error) {
        // Somebody else has it now.
        if (port === 0) throw error;
      }
    }
    throw new Error('unreachable');
  }

  async authorize(request: AuthorizationRequest): Promise<URLSearchParams> {
    const { timeout = 300_000, open } = this.#options;
    let timer: Timer;
    let stop!: () => void;
    try {
      return await new Promise<URLSearchParams>((resolve, reject) => {
        this.#waiting = { request, done: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)) };
        const message = `The login was not finished within ${timeout} ms`;
        timer = startTimer(timeout, () => reject(new OAuthError('timeout', message)));
        stop = () => reject(request.signal.reason);
        request.signal.addEventListener('abort', stop, { once: true });
        if (request.signal.aborted) stop();
        else
          Promise.resolve()
            .then(() => open(request.url))
            .catch(reject);
      });
    } finally {
      this.#waiting = undefined;
      clearTimeout(timer);
      request.signal.removeEventListener('abort', stop);
    }
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    // The page may still be on its way; a browser that holds on to its connection is not waited for.
    const forced = setTimeout(() => this.#server.closeAllConnections(), 500);
    await closed;
    clearTimeout(forced);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = URL.canParse(request.url ?? '', this.redirectUri) ? new URL(request.url!, this.redirectUri) : undefined;
    if (url?.pathname !== this.#path) return this.#show(response, 404, 'There is nothing here.');
    if (request.method !== 'GET') return this.#show(response, 405, 'This page can only be read.');
    // Names that lead here are somebody else's (DNS rebinding).
    if (request.headers.host !== new URL(this.redirectUri).host)
      return this.#show(response, 403, 'This is another site.');
    const waiting = this.#waiting;
    const answer = url.searchParams;
    if (!waiting || answer.get('state') !== waiting.request.state) {
      return this.#show(response, 400, 'Nobody is waiting for this login. Please start again where you began it.');
    }
    try {
      checkIssuer(answer, waiting.request.issuer, false);
    } catch (error) {
      this.#show(response, 400, 'This answer is not from the server that was asked, and was thrown away.');
      return waiting.done(error as Error);
    }
    const text = answer.has('error') ? 'You were not signed in.' : 'You are signed in.';
    this.#show(response, 200, `${text} You can close this page.`);
    return waiting.done(answer);
  }

  #show(response: ServerResponse, status: number, text: string): void {
    const title = escaped(this.#options.title ?? 'Login');
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      // The address holds the code.
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

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
