import { derive } from '../core/derive.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method, Notice } from '../protocol/methods.ts';
import { checkHeaders } from './header-check.ts';
import { QuestionAttribution, type ClientOf } from './question-attribution.ts';
import { ReopenedUpstream, type ReopenedUpstreamOptions } from './upstream.ts';

export interface ConnectionOptions extends Omit<ReopenedUpstreamOptions, 'attribution'> {
  /** Tells clients apart that share the connection. Without it there is one, and any question of the server is put to it. */
  readonly clientOf?: ClientOf | undefined;
}

/** One connection of a bridge to its server, and how it is used. */
export class Connection {
  readonly upstream: ReopenedUpstream;
  readonly attribution: QuestionAttribution | undefined;
  /** Requests that wait for an answer, with those for a connection and for a subscription. */
  requests = 0;
  /** Subscriptions that are open. */
  subscriptions = 0;
  /** When it was last needed, in milliseconds since the epoch. */
  lastUsed = Date.now();

  constructor({ clientOf, ...options }: ConnectionOptions) {
    this.attribution = clientOf && new QuestionAttribution(clientOf);
    this.upstream = new ReopenedUpstream({ ...options, attribution: this.attribution });
  }

  /** Whether it is connected, or somebody waits for that. */
  get inUse(): boolean {
    return this.upstream.connected || this.requests + this.subscriptions > 0;
  }

  /** @throws RpcError where the server cannot be reached. */
  async connect(): Promise<void> {
    await this.#use('requests', () => this.upstream.connect());
  }

  readonly service: Service = checkHeaders((exchange) =>
    exchange.method === Method.Listen
      ? this.#use('subscriptions', () => this.#listen(exchange))
      : this.#use('requests', () => this.#answer(exchange)),
  );

  async #answer(exchange: Exchange): Promise<JsonObject> {
    const { upstream } = this;
    if (!this.attribution) return upstream.service(exchange);
    if (!upstream.connected) await upstream.connect();
    // What a server of 2026-07-28 asks is the answer to the request that it belongs to.
    if (upstream.era === 'modern') return upstream.service(exchange);
    // A server has one set of roots for a connection: those of one client are not for all.
    if (exchange.method === Notice.RootsListChanged) return {};
    return this.attribution.answer(upstream.service, exchange);
  }

  /** A subscription is a request too until the server has agreed to it. */
  async #listen(exchange: Exchange): Promise<JsonObject> {
    let agree!: () => void;
    const agreed = new Promise<void>((resolve) => {
      agree = resolve;
    });
    const notify: Exchange['notify'] = (method, params) => {
      if (method === Notice.Acknowledged) agree();
      return exchange.notify(method, params);
    };
    const over = this.upstream.service(derive(exchange, { notify }));
    await this.#use('requests', () => Promise.race([agreed, over]));
    return over;
  }

  async #use<T>(count: 'requests' | 'subscriptions', work: () => Promise<T>): Promise<T> {
    this[count] += 1;
    try {
      return await work();
    } finally {
      this[count] -= 1;
      this.lastUsed = Date.now();
    }
  }
}
