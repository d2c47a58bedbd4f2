import type { Holding } from '../base/eviction.ts';
import { shareOf } from '../base/share.ts';
import { derive } from '../core/derive.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method, NotificationMethod } from '../protocol/methods.ts';
import { checkHeaders } from './header-check.ts';
import { QuestionAttribution, type ClientOf } from './question-attribution.ts';
import { ReopenedUpstream, type ReopenedUpstreamOptions } from './upstream.ts';

export interface ConnectionOptions extends Omit<ReopenedUpstreamOptions, 'attribution'> {
  /**
   * Distinguishes the clients that share the connection. Without it, there is only one client, and it gets every
   * question.
   */
  readonly clientOf?: ClientOf | undefined;
  /** Whose connection it is, if it is one principal's. */
  readonly principal?: string | undefined;
}

/** One connection of a bridge to its server, with its current use. */
export class Connection {
  readonly upstream: ReopenedUpstream;
  readonly attribution: QuestionAttribution | undefined;
  /** Whose it is (`shareOf`). It changes when the connection is handed over. */
  share: string;
  /** Requests without a response yet, including those for a connection or a subscription. */
  requests = 0;
  /** Open subscriptions. */
  subscriptions = 0;
  /** When it was last used, in milliseconds since the epoch. */
  lastUsed = Date.now();

  constructor({ clientOf, principal, ...options }: ConnectionOptions) {
    this.share = shareOf({ principal, address: undefined });
    this.attribution = clientOf && new QuestionAttribution(clientOf);
    this.upstream = new ReopenedUpstream({ ...options, attribution: this.attribution });
  }

  get holding(): Holding {
    return { share: this.share, busy: this.requests + this.subscriptions > 0, lastUsed: this.lastUsed };
  }

  /** Whether it is connected, or a request waits for the connection. */
  get inUse(): boolean {
    return this.upstream.connected || this.requests + this.subscriptions > 0;
  }

  /** @throws RpcError if the server cannot be reached. */
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
    // In 2026-07-28, a server's question is the result of the request that it belongs to.
    if (upstream.era === 'modern') return upstream.service(exchange);
    // A server has one set of roots per connection, and one client's roots do not apply to all clients.
    if (exchange.method === NotificationMethod.RootsListChanged) return {};
    return this.attribution.answer(upstream.service, exchange);
  }

  /** A subscription counts as a request until the server has acknowledged it. */
  async #listen(exchange: Exchange): Promise<JsonObject> {
    let agree!: () => void;
    const agreed = new Promise<void>((resolve) => {
      agree = resolve;
    });
    const notify: Exchange['notify'] = (method, params) => {
      if (method === NotificationMethod.Acknowledged) agree();
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
