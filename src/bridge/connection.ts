import { Deferred } from '../base/deferred.ts';
import type { Holding } from '../base/eviction.ts';
import { shareOf } from '../base/share.ts';
import { waitFor } from '../base/wait.ts';
import { ConnectionError, mayRepeat, TimeoutError } from '../client/errors.ts';
import { keepListening } from '../client/keep-listening.ts';
import { Link } from '../client/link.ts';
import type { Opener } from '../client/requester.ts';
import { derive } from '../core/derive.ts';
import type { Caller, Exchange, Service } from '../core/exchange.ts';
import { transportFailure } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { Meta, Method, NotificationMethod } from '../protocol/methods.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import { backgroundListExchange } from '../wire/background-list.ts';
import type { SessionKeeper } from '../transport/http/client/kept-session.ts';
import { NOT_EXECUTED } from '../transport/http/not-executed.ts';
import { checkHeaders } from './header-check.ts';
import { OWN_IDENTITY, type BridgeIdentity } from './identity.ts';
import { QuestionAttribution, type ClientOf } from './question-attribution.ts';

/** What a server says about itself. Do not trust it. */
export interface ServerDescription {
  /** Undefined if the server does not state it. */
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly revision: Revision;
  /**
   * The names of its tools. Undefined if it does not list them, or if they have more than 100 pages or a million
   * characters. Each name counts as at least 100.
   */
  readonly tools: readonly string[] | undefined;
}

/** Milliseconds. */
const LIST_TIMEOUT = 10_000;
/** The most pages of tools that a description reads. */
const MAX_PAGES = 100;
/** The most characters of all tools' names in a description. Each name counts as at least 100. A page may have 16 MiB. */
const MAX_NAMES = 1024 * 1024;
const MIN_NAME = 100;

export interface ConnectionOptions {
  readonly opener: Opener;
  readonly identity: BridgeIdentity;
  /**
   * Distinguishes the clients that share the connection. Without it, there is only one client, and it gets every
   * question.
   */
  readonly clientOf?: ClientOf | undefined;
  /** The principal that the connection belongs to, if there is only one. */
  readonly principal?: string | undefined;
  /** Keeps the session at an HTTP server for other processes. */
  readonly keeper?: SessionKeeper | undefined;
  readonly onerror: (error: Error) => void;
  /** Called each time that a lost connection was reopened. */
  readonly onreopen: () => void;
}

/**
 * One connection of a bridge to its server, with its current use. It opens with the first request, and reopens with the
 * first request after it was lost. When it is lost, requests in flight fail, unless they certainly did not run.
 * Subscriptions continue on the next connection.
 */
export class Connection {
  readonly attribution: QuestionAttribution | undefined;
  /** The share that the connection counts towards (`shareOf`). Changes when another client gets the connection. */
  share: string;
  /** Requests without a response yet, including those for a connection or a subscription. */
  requests = 0;
  /** Open subscriptions. */
  subscriptions = 0;
  /** When it was last used, in milliseconds since the epoch. */
  lastUsed = performance.now();
  readonly #link: Link;
  readonly #onerror: (error: Error) => void;

  constructor({ opener, identity, clientOf, principal, keeper, onerror, onreopen }: ConnectionOptions) {
    const attribution = clientOf && new QuestionAttribution(clientOf);
    this.attribution = attribution;
    this.share = shareOf({ principal, address: undefined });
    this.#onerror = onerror;
    let opened = false;
    const onproblem = (error: Error): void => {
      // `onlost` reports it.
      if (error !== this.#link.upstream?.closeReason) onerror(error);
    };
    this.#link = new Link({
      open: (signal) => opener.open({ ...identity, attribution, keeper, onerror: onproblem }, signal),
      reopens: opener.reopens,
      remote: opener.remote,
      onopen: (_, rested) => {
        if (opened && !rested) onreopen();
        opened = true;
      },
      onlost: (reason) => {
        const why = reason ? `: ${reason.message}` : '';
        const next = opener.remote ? 'connects' : 'starts it';
        onerror(new Error(`The connection to the server was lost${why}; the next request ${next} again`));
      },
      onerror,
    });
  }

  get connected(): boolean {
    return this.#link.current?.closed === false;
  }

  /** The server's era. Undefined before the first connection. */
  get era(): 'legacy' | 'modern' | undefined {
    const { upstream } = this.#link;
    return upstream && REVISIONS[upstream.revision].era;
  }

  get holding(): Holding {
    return { share: this.share, busy: this.requests + this.subscriptions > 0, lastUsed: this.lastUsed };
  }

  /** Whether it is connected, or a request waits for the connection. */
  get inUse(): boolean {
    return this.connected || this.requests + this.subscriptions > 0;
  }

  /** @throws RpcError if the server cannot be reached. */
  async connect(): Promise<void> {
    await this.#use('requests', () => this.#link.connect());
  }

  /** Connects, and asks for the tools. @throws RpcError if the server cannot be reached. */
  async describe(): Promise<ServerDescription> {
    await this.connect();
    const { revision, discovered } = this.#link.upstream!;
    const { _meta: meta } = discovered;
    const info: unknown = meta?.[Meta.ServerInfo];
    const text = (key: string): string | undefined =>
      isObject(info) && typeof info[key] === 'string' ? info[key] : undefined;
    const caller: Caller = {
      ...{ revision, clientInfo: OWN_IDENTITY.clientInfo, capabilities: OWN_IDENTITY.capabilities },
      ...{ principal: undefined, auth: undefined, logLevel: undefined, session: undefined },
    };
    const listed = isObject(discovered.capabilities) && discovered.capabilities['tools'] !== undefined;
    const tools = listed ? await this.#toolNames(caller).catch(() => undefined) : [];
    return { name: text('name'), version: text('version'), revision, tools };
  }

  async #toolNames(caller: Caller): Promise<string[] | undefined> {
    const names: string[] = [];
    let room = MAX_NAMES;
    const signal = AbortSignal.timeout(LIST_TIMEOUT);
    let params: JsonObject = {};
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const { tools, nextCursor } = await this.service(backgroundListExchange(params, caller, signal));
      if (!Array.isArray(tools)) return undefined;
      for (const tool of tools) {
        if (!isObject(tool) || typeof tool['name'] !== 'string') continue;
        names.push(tool['name']);
        room -= Math.max(tool['name'].length, MIN_NAME);
      }
      if (room < 0) return undefined;
      if (typeof nextCursor !== 'string') return names;
      params = { cursor: nextCursor };
    }
    return undefined;
  }

  /** Closes the current connection. The next request makes another one, and subscriptions continue on it. */
  rest(): Promise<void> {
    return this.#link.rest();
  }

  close(): Promise<void> {
    return this.#link.close(new RpcError(CONNECTION_CLOSED, 'The bridge has closed the connection to the server'));
  }

  readonly service: Service = checkHeaders((exchange) =>
    exchange.method === Method.Listen
      ? this.#use('subscriptions', () => this.#listen(exchange))
      : this.#use('requests', () => this.#answer(exchange)),
  );

  #answer(exchange: Exchange): Promise<JsonObject> {
    return this.#call(exchange).catch((error: unknown) => {
      if (!mayRepeat(error, false)) throw error;
      return this.#call(exchange);
    });
  }

  async #call(exchange: Exchange): Promise<JsonObject> {
    if (!this.attribution) return this.#link.service(exchange);
    if (!this.connected) await waitFor(this.#link.connect(), exchange);
    // A server has one set of roots per connection, and one client's roots do not apply to all clients.
    if (exchange.method === NotificationMethod.RootsListChanged) return {};
    // In 2026-07-28, a server's question is the result of the request that it belongs to. But if the connection is lost and
    // made again, the request may reach a server of a handshake revision. So the attribution knows it, too.
    return this.attribution.answer(this.#attributed, exchange, this.era !== 'modern');
  }

  /** If an answer is lost and the connection is not, the server may still run the request, and ask for it. */
  readonly #attributed: Service = async (exchange) => {
    try {
      return await this.#link.service(exchange);
    } catch (error) {
      if (this.connected && transportFailure(error)?.notExecuted === false) this.attribution?.cancelled(exchange);
      throw error;
    }
  };

  /** A subscription counts as a request until the server has acknowledged it. */
  async #listen(exchange: Exchange): Promise<JsonObject> {
    const agreed = new Deferred();
    const notify: Exchange['notify'] = (method, params) => {
      if (method === NotificationMethod.Acknowledged) agreed.resolve();
      return exchange.notify(method, params);
    };
    const { service } = this.#link;
    const over = keepListening(derive(exchange, { notify }), { link: this.#link, service, onerror: this.#onerror });
    await this.#use('requests', () => Promise.race([agreed.promise, over]));
    return over;
  }

  /** @throws RpcError for the bridge's caller. */
  async #use<T>(count: 'requests' | 'subscriptions', work: () => Promise<T>): Promise<T> {
    this[count] += 1;
    try {
      return await work();
    } catch (error) {
      throw asRpcError(error);
    } finally {
      this[count] -= 1;
      this.lastUsed = performance.now();
    }
  }
}

function asRpcError(error: unknown): RpcError {
  if (error instanceof ConnectionError) {
    const data = error.notExecuted ? NOT_EXECUTED : undefined;
    return new RpcError(CONNECTION_CLOSED, error.message, { cause: error, data });
  }
  if (error instanceof TimeoutError) return new RpcError(REQUEST_TIMEOUT, error.message, { cause: error });
  return RpcError.from(error);
}
