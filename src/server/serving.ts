import type { ServerResponse } from 'node:http';
import type { Service } from '../core/exchange.ts';
import { isObject } from '../jsonrpc/message.ts';
import { guarded } from '../jsonrpc/stderr-report.ts';
import type { HttpRefusal } from '../transport/http/server/call.ts';
import type { AuthInfo } from '../protocol/types.ts';
import type { FetchContext } from '../transport/http/server/fetch.ts';
import type { HttpHandler, HttpHandlerOptions } from '../transport/http/server/handler.ts';
import type { HttpListener, ListenOptions } from '../transport/http/server/listen.ts';
import type { NodeRequest } from '../transport/http/server/node.ts';
import { admitPipelined } from '../transport/http/server/pipelining.ts';
import type { State } from '../store/state.ts';
import type { StdioServerOptions } from '../transport/stdio/server.ts';
import type { Transport } from '../transport/transport.ts';
import type { Inbound, InboundOptions } from '../wire/serve.ts';
import { listenFor } from './http-service.ts';
import { compact } from './registry.ts';

/** How a server is served over HTTP. */
export type HttpServerOptions = Omit<HttpHandlerOptions, 'onsession' | 'onrequest' | 'sharesChanges' | 'onerror'>;

export interface ServingOptions {
  readonly inbound: InboundOptions & { readonly onerror: (error: Error) => void };
  readonly http: HttpServerOptions;
  /**
   * Called with each state that the server is served with. Returns a function that is called if it is not served.
   */
  readonly keepTasks: (state: Partial<State>) => () => void;
  /** Called with each state that the server is served with. Resolves with a function that is called when it no longer is. */
  readonly shareChanges: (state: Partial<State>) => Promise<() => void>;
}

type FetchFunction = (request: Request, context?: FetchContext) => Promise<Response>;
type NodeFunction = (request: NodeRequest, response: ServerResponse) => void;

interface Mounted {
  readonly fetch: FetchFunction;
  readonly node: NodeFunction;
}

/**
 * All the ways in which one server is served. Each one is opened, and its code loaded, when it is first used: importing
 * the server library loads no transport.
 */
export class Serving {
  readonly #service: Service;
  readonly #options: ServingOptions;
  readonly #onrefusal: (refusal: HttpRefusal) => void;
  /** The close functions of everything that is open. */
  readonly #ways = new Set<(timeout: number) => Promise<void>>();
  #mounted: Promise<Mounted> | undefined;
  #stateKey: string | Uint8Array | undefined;
  #closed = false;

  constructor(service: Service, options: ServingOptions) {
    this.#service = service;
    this.#options = options;
    this.#onrefusal = guarded(options.http.onrefusal, options.inbound.onerror);
  }

  /** Whether the server is served in any way. */
  get open(): boolean {
    return this.#ways.size > 0;
  }

  async connect(transport: Transport): Promise<void> {
    this.#demandOpen();
    const inbound = await this.#inbound();
    const close = this.#keep((timeout) => inbound.close(timeout));
    try {
      await inbound.connect(transport);
    } catch (error) {
      this.#ways.delete(close);
      throw error;
    }
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      // This connection is gone, so requests that wait for an answer on it would wait forever.
      close(0).catch(this.#options.inbound.onerror);
    };
  }

  async stdio(options: StdioServerOptions): Promise<void> {
    const { stdioServerTransport } = await import('../transport/stdio/server.ts');
    const transport = stdioServerTransport(options);
    await this.connect(transport);
    await new Promise<void>((resolve) => {
      const { onclose } = transport;
      transport.onclose = () => {
        onclose?.();
        resolve();
      };
    });
  }

  async listen(options: Omit<ListenOptions, 'onsession' | 'onrequest'>): Promise<HttpListener> {
    this.#demandOpen();
    const { listen } = await import('../transport/http/server/listen.ts');
    const inbound = await this.#inbound(options.state);
    const http = this.#httpOptions(inbound, options);
    const state = await this.#use(http);
    const listener = await listenFor(inbound, listen, http).catch((error: unknown) => {
      state.forget();
      throw error;
    });
    const close = this.#keep((timeout) => listener.close(timeout).finally(state.leave));
    // The server may have been closed while this was being opened.
    if (this.#closed) await close(0);
    this.#demandOpen();
    return { ...listener, close: (timeout = 5000) => close(timeout) };
  }

  async fetch(request: Request, context: unknown): Promise<Response> {
    return (await this.#mount()).fetch(request, knownCaller(context));
  }

  node(request: NodeRequest, response: ServerResponse): void {
    // Before the code is loaded, which takes time.
    if (!admitPipelined(request, response, this.#onrefusal)) return;
    this.#mount().then(
      ({ node }) => node(request, response),
      (error: unknown) => {
        this.#options.inbound.onerror(error as Error);
        response.writeHead(500).end();
      },
    );
  }

  async close(timeout: number): Promise<void> {
    this.#closed = true;
    // This also closes what is still being opened.
    await this.#mounted?.catch(() => {});
    await Promise.all([...this.#ways].map((close) => close(timeout)));
  }

  /** One handler for all mounts: a session that was opened through one mount may continue through another. */
  #mount(): Promise<Mounted> {
    return (this.#mounted ??= this.#makeMounted());
  }

  async #makeMounted(): Promise<Mounted> {
    // One after the other: Jest cannot link modules that are imported at the same time and share others.
    const { createHttpHandler } = await import('../transport/http/server/handler.ts');
    const { fetchListener } = await import('../transport/http/server/fetch.ts');
    const { answerNode } = await import('../transport/http/server/node.ts');
    const inbound = await this.#inbound();
    // The framework has already routed the path. HTTP+SSE (2024-11-05) needs two own paths, so it is off here.
    const { path = '*', ssePath = false } = this.#options.http;
    const http = this.#httpOptions(inbound, { path, ssePath });
    const state = await this.#use(http);
    let handler: HttpHandler;
    try {
      handler = createHttpHandler(http);
    } catch (error) {
      state.forget();
      throw error;
    }
    const close = this.#keep(async (timeout) => {
      handler.drain();
      await inbound.close(timeout);
      await handler.close().finally(state.leave);
    });
    if (this.#closed) await close(0);
    return { fetch: fetchListener(handler), node: answerNode(handler) };
  }

  /** @throws Error if the server was closed. */
  #demandOpen(): void {
    if (this.#closed) throw new Error('The server has been closed');
  }

  /** An undefined value in `options` does not override the server's own option. */
  #httpOptions({ onsession, onrequest }: Inbound, options: ListenOptions): ListenOptions {
    const { http, inbound } = this.#options;
    const own = { onerror: inbound.onerror, sessionKey: inbound.stateKey };
    return { ...own, ...http, ...compact(options), sharesChanges: true, onsession, onrequest };
  }

  /** Uses the state, if there is one. `leave` must be called when the server is closed, `forget` if it is not served. */
  async #use({ state }: ListenOptions): Promise<{ forget: () => void; leave: () => void }> {
    if (!state) return { forget: () => {}, leave: () => {} };
    const forgetTasks = this.#options.keepTasks(state);
    const leave = await this.#options.shareChanges(state);
    return {
      leave,
      forget: () => {
        forgetTasks();
        leave();
      },
    };
  }

  async #inbound(state: HttpServerOptions['state'] = this.#options.http.state): Promise<Inbound> {
    const { createInbound } = await import('../wire/serve.ts');
    const { randomBytes } = await import('node:crypto');
    // All entry points share one: a repeated request may arrive through another one.
    const stateKey = (this.#stateKey ??= this.#options.inbound.stateKey ?? randomBytes(32));
    return createInbound(this.#service, { ...this.#options.inbound, stateKey, state });
  }

  /** @returns the function that closes this way. */
  #keep(end: (timeout: number) => Promise<void>): (timeout: number) => Promise<void> {
    const close = (timeout: number): Promise<void> => {
      this.#ways.delete(close);
      return end(timeout);
    };
    this.#ways.add(close);
    return close;
  }
}

/**
 * Reads the caller from a context. Runtimes pass their own second argument to a fetch handler, so only a value with the
 * shape of an `AuthInfo` is used.
 */
function knownCaller(context: unknown): FetchContext | undefined {
  const authInfo: unknown = isObject(context) ? context['authInfo'] : undefined;
  if (!isObject(authInfo) || typeof authInfo['principal'] !== 'string' || !Array.isArray(authInfo['scopes'])) {
    return undefined;
  }
  return { authInfo: authInfo as AuthInfo };
}
