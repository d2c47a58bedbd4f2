import type { Exchange, Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Method, Notice } from '../protocol/methods.ts';
import { checkHeaders } from './header-check.ts';
import { QuestionAttribution } from './question-attribution.ts';
import { ReopenedUpstream, type ReopenedUpstreamOptions } from './upstream.ts';

export interface ConnectionOptions extends Omit<ReopenedUpstreamOptions, 'attribution'> {
  /** Whether several clients share it, so that questions of the server have to be attributed to one of them. */
  readonly mixed: boolean;
}

/** One connection of a bridge to its server, and who uses it. */
export class Connection {
  readonly #upstream: ReopenedUpstream;
  readonly #attribution: QuestionAttribution | undefined;
  #requests = 0;
  #subscriptions = 0;
  /** When it was last needed, in milliseconds since the epoch. */
  lastUsed = Date.now();

  constructor({ mixed, ...options }: ConnectionOptions) {
    this.#attribution = mixed ? new QuestionAttribution() : undefined;
    this.#upstream = new ReopenedUpstream({ ...options, attribution: this.#attribution });
  }

  /** Whether it stands now. */
  get connected(): boolean {
    return this.#upstream.connected;
  }

  /** The era of the server, once it is known. */
  get era(): 'legacy' | 'modern' | undefined {
    return this.#upstream.era;
  }

  /** Whether nobody waits for an answer. */
  get idle(): boolean {
    return this.#requests === 0;
  }

  /** Whether somebody listens for changes. */
  get heard(): boolean {
    return this.#subscriptions > 0;
  }

  /** Calls that wait for those of other clients. */
  get waiting(): number {
    return this.#attribution?.waiting ?? 0;
  }

  /** @throws RpcError where the server cannot be reached. */
  async connect(): Promise<void> {
    await this.#request(() => this.#upstream.connect());
  }

  readonly service: Service = checkHeaders((exchange) =>
    exchange.method === Method.Listen ? this.#listen(exchange) : this.#request(() => this.#answer(exchange)),
  );

  /** Closes the connection until it is needed again. */
  rest(): Promise<void> {
    return this.#upstream.rest();
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }

  async #answer(exchange: Exchange): Promise<JsonObject> {
    const attribution = this.#attribution;
    if (!attribution) return this.#upstream.service(exchange);
    if (!this.connected) await this.#upstream.connect();
    // What a server of 2026-07-28 asks is the answer to the request that it belongs to.
    if (this.era === 'modern') return this.#upstream.service(exchange);
    // A server has one set of roots for a connection: those of one client are not for all.
    if (exchange.method === Notice.RootsListChanged) return {};
    return attribution.answer(this.#upstream.service, exchange);
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    this.#requests += 1;
    try {
      return await work();
    } finally {
      this.#requests -= 1;
      this.lastUsed = Date.now();
    }
  }

  async #listen(exchange: Exchange): Promise<JsonObject> {
    this.#subscriptions += 1;
    try {
      return await this.#upstream.service(exchange);
    } finally {
      this.#subscriptions -= 1;
      this.lastUsed = Date.now();
    }
  }
}
