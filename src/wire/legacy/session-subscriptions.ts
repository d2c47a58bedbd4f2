import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { invoke } from '../../core/invoke.ts';
import type { Caller, Service } from '../../core/exchange.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { ListenExchange, type Connection } from './exchange.ts';
import type { TotalLoad } from './total-load.ts';

/** More resource subscriptions than this in one session are refused. */
const MAX_SUBSCRIPTIONS = 1000;
/** What a subscription takes beside its URI. Measured. */
const SUBSCRIPTION_BYTES = 4096;

interface Subscription {
  readonly exchange: ListenExchange;
  /** Settles with what the service says to it first. */
  readonly made: Promise<void>;
}

/**
 * What a session listens to: one `subscriptions/listen` exchange for all that is said to the session, and one for each
 * resource that the client subscribed to. An exchange that the service ends is forgotten.
 */
export class SessionSubscriptions {
  readonly #connection: Connection;
  readonly #service: Service;
  readonly #total: TotalLoad;
  readonly #onerror: (error: Error) => void;
  /** Oldest first; more than one only until the newest is acknowledged. */
  readonly #session: ListenExchange[] = [];
  /** The service has shown that it has subscriptions. */
  #offered = false;
  #lapsed = false;
  #begun = false;
  #resources: Map<string, Subscription> | undefined;
  /** What these take. */
  #bytes = 0;
  #closed: Error | undefined;

  /** @param total of what the sessions of the service are subscribed to. */
  constructor(connection: Connection, service: Service, total: TotalLoad, onerror: (error: Error) => void) {
    this.#connection = connection;
    this.#service = service;
    this.#total = total;
    this.#onerror = onerror;
  }

  /** Whether `listen` was ever called. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether the session would listen, and could not because the server behind the service was lost. */
  get lapsed(): boolean {
    return this.#lapsed;
  }

  /**
   * Starts to listen for the session, or, where it does already, lets the service see the caller anew: the new exchange
   * is open before the old one ends, so nothing falls between them. Resolves when the service has acknowledged it.
   *
   * @throws RpcError where the service refuses; what listened before goes on.
   */
  async listen(): Promise<void> {
    this.#begun = true;
    this.#lapsed = false;
    const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const now = this.#open(filter, this.#connection.caller, () => this.#forget(now));
    this.#session.push(now);
    try {
      await now.acknowledged;
    } catch (error) {
      // It heard of the end first, or a newer one has taken over.
      if (now.ended) return;
      this.#forget(now);
      this.#lapsed = this.#session.length === 0 && RpcError.from(error).code === CONNECTION_CLOSED;
      // A service without subscriptions is fine: there will be nothing to hear.
      if (!this.#offered && RpcError.from(error).code === ErrorCode.MethodNotFound) return;
      throw error;
    }
    this.#offered = true;
    const older = this.#session.splice(0, this.#session.indexOf(now));
    for (const exchange of older) exchange.abort(new Error('Superseded by a newer subscription'));
  }

  /**
   * @param caller as the request shows it that subscribes.
   * @throws RpcError where the service refuses, or there are too many.
   */
  subscribe(uri: string, caller: Caller): Promise<void> {
    this.#resources ??= new Map();
    const known = this.#resources.get(uri);
    if (known) return known.made;
    if (this.#resources.size >= MAX_SUBSCRIPTIONS) {
      const message = `A session may subscribe to at most ${MAX_SUBSCRIPTIONS} resources`;
      return Promise.reject(new RpcError(ErrorCode.InvalidRequest, message));
    }
    const bytes = bytesOf(uri);
    if (!this.#total.hasRoom(bytes, this.#bytes + bytes)) {
      const message = 'All clients together are subscribed to too much; try again later';
      return Promise.reject(new RpcError(ErrorCode.InvalidRequest, message));
    }
    const exchange = this.#open({ resourceSubscriptions: [uri] }, caller, () => this.#drop(uri, exchange));
    const made = this.#made(uri, exchange);
    this.#resources.set(uri, { exchange, made });
    this.#count(bytes);
    return made;
  }

  async unsubscribe(uri: string): Promise<void> {
    const exchange = this.#resources?.get(uri)?.exchange;
    if (!exchange) return;
    this.#drop(uri, exchange);
    exchange.abort(new Error('Unsubscribed'));
    await exchange.finished;
  }

  close(reason: Error): void {
    this.#closed = reason;
    for (const exchange of this.#session) exchange.abort(reason);
    for (const { exchange } of this.#resources?.values() ?? []) exchange.abort(reason);
    this.#resources = undefined;
    this.#count(-this.#bytes);
  }

  /** Forgets a subscription, unless there is a newer one by now. */
  #drop(uri: string, exchange: ListenExchange): void {
    if (this.#resources?.get(uri)?.exchange !== exchange) return;
    this.#resources.delete(uri);
    this.#count(-bytesOf(uri));
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#total.add(bytes);
  }

  async #made(uri: string, exchange: ListenExchange): Promise<void> {
    try {
      const honoured = await exchange.acknowledged;
      if (!honoured.resourceSubscriptions?.includes(uri)) {
        throw new RpcError(ErrorCode.InvalidParams, `The server does not offer updates of ${uri}`);
      }
    } catch (error) {
      this.#drop(uri, exchange);
      exchange.abort(RpcError.from(error));
      throw error;
    }
  }

  #forget(exchange: ListenExchange): void {
    const index = this.#session.indexOf(exchange);
    if (index >= 0) this.#session.splice(index, 1);
  }

  /** @param onfinished called once the service has ended the exchange, whatever the reason. */
  #open(filter: SubscriptionFilter, caller: Caller, onfinished: () => void): ListenExchange {
    const exchange = new ListenExchange(this.#connection, filter, caller);
    if (this.#closed) exchange.abort(this.#closed);
    exchange.finished = invoke(this.#service, exchange)
      .then(
        () => void exchange.over(new RpcError(ErrorCode.InternalError, 'The subscription ended before it began')),
        (thrown: unknown) => {
          const error = RpcError.from(thrown);
          if (!exchange.over(error) && !exchange.ended) this.#onerror(error);
        },
      )
      .then(onfinished);
    return exchange;
  }
}

function bytesOf(uri: string): number {
  return SUBSCRIPTION_BYTES + uri.length;
}
