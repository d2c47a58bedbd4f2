import { quoting } from '../../../base/short-text.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import { invoke } from '../../../core/invoke.ts';
import type { Caller, Service } from '../../../core/exchange.ts';
import type { SubscriptionFilter } from '../../../protocol/types.ts';
import { ListenExchange, type Connection } from './exchange.ts';
import { CAN_CONTINUE } from '../../continuation.ts';
import type { TotalLoad } from '../../total-load.ts';

/** The most resource subscriptions of one session. */
const MAX_SUBSCRIPTIONS = 1000;
/** The memory of a subscription without its URI, as measured. Bytes. */
const SUBSCRIPTION_BYTES = 4096;

interface Subscription {
  readonly exchange: ListenExchange;
  /** Settles with the service's first response. */
  readonly made: Promise<void>;
}

/**
 * The subscriptions of a session: one `subscriptions/listen` exchange for the session itself, and one for each resource
 * that the client subscribed to. An exchange that the service ends is forgotten.
 */
export class SessionSubscriptions {
  readonly #connection: Connection;
  readonly #service: Service;
  readonly #total: TotalLoad;
  readonly #onerror: (error: Error) => void;
  /** Oldest first. There is more than one only until the newest is acknowledged. */
  readonly #session: ListenExchange[] = [];
  /** Whether the service has shown that it supports subscriptions. */
  #offered = false;
  /** Settles when the session's subscription that is being opened is acknowledged or refused. */
  #opening: Promise<void> | undefined;
  /** The same for the next one, for all who asked for it meanwhile. */
  #next: Promise<void> | undefined;
  #lapsed = false;
  #begun = false;
  #resources: Map<string, Subscription> | undefined;
  /** The bytes of all subscriptions. */
  #bytes = 0;
  #closed: Error | undefined;

  /** @param total counts the subscriptions of all sessions of the service. */
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

  /** Whether the session's subscription is missing because the upstream server was lost. */
  get lapsed(): boolean {
    return this.#lapsed;
  }

  /**
   * Opens the session's subscription. If one is open, replaces it so that the service sees the caller's new state. The
   * new exchange opens before the old one ends, so no notification is lost. Resolves when the service has acknowledged
   * it. While one is being opened, all further calls share the next one: a client may change its log level thousands of
   * times at once.
   *
   * @throws RpcError (rejects) if the service refuses. The previous subscription then stays open.
   */
  listen(): Promise<void> {
    if (!this.#opening) {
      this.#opening = this.#replace().finally(() => (this.#opening = undefined));
      return this.#opening;
    }
    const open = (): Promise<void> => {
      this.#next = undefined;
      return this.listen();
    };
    this.#next ??= this.#opening.then(open, open);
    return this.#next;
  }

  async #replace(): Promise<void> {
    this.#begun = true;
    this.#lapsed = false;
    const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const now = this.#open(filter, this.#connection.caller, () => this.#forget(now));
    this.#session.push(now);
    try {
      await now.acknowledged;
    } catch (error) {
      // The exchange has already ended, or a newer one has replaced it.
      if (now.ended) return;
      this.#forget(now);
      this.#lapsed = this.#session.length === 0 && RpcError.from(error).code === CONNECTION_CLOSED;
      // A service need not support subscriptions. Then it sends no notifications.
      if (!this.#offered && RpcError.from(error).code === ErrorCode.MethodNotFound) return;
      throw error;
    }
    this.#offered = true;
    const older = this.#session.splice(0, this.#session.indexOf(now));
    for (const exchange of older) exchange.abort(new Error('Superseded by a newer subscription'));
  }

  /**
   * Subscribes to a resource.
   *
   * @param caller the session's caller, with the credential of the subscribing request.
   * @throws RpcError if the service refuses, or if there are too many subscriptions.
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
      const message = 'All clients together have too many subscriptions; try again later';
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
    if (CAN_CONTINUE) await exchange.finished;
  }

  close(reason: Error): void {
    this.#closed = reason;
    for (const exchange of this.#session) exchange.abort(reason);
    for (const { exchange } of this.#resources?.values() ?? []) exchange.abort(reason);
    this.#resources = undefined;
    this.#count(-this.#bytes);
  }

  /** Forgets a subscription, unless a newer one has replaced it. */
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
        throw new RpcError(ErrorCode.InvalidParams, quoting`The server does not offer updates of ${uri}`);
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

  /** @param onfinished called when the service has ended the exchange, for any reason. */
  #open(filter: SubscriptionFilter, caller: Caller, onfinished: () => void): ListenExchange {
    const exchange = new ListenExchange(this.#connection, filter, caller);
    if (this.#closed) exchange.abort(this.#closed);
    exchange.finished = invoke(this.#service, exchange)
      .then(
        () =>
          void exchange.over(
            new RpcError(ErrorCode.InternalError, 'The subscription ended before it was acknowledged'),
          ),
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
