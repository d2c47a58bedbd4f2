import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import type { Service } from '../../core/exchange.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { ListenExchange, type Connection } from './exchange.ts';

/** More resource subscriptions than this in one session are refused. */
const MAX_SUBSCRIPTIONS = 1000;

interface Listening {
  readonly exchange: ListenExchange;
  /** Settles when the service has ended the exchange. */
  readonly over: Promise<unknown>;
}

/**
 * What a session listens to: one `subscriptions/listen` exchange for all that is said to the session, and one for each
 * resource that the client subscribed to.
 */
export class Subscriptions {
  readonly #connection: Connection;
  readonly #service: Service;
  readonly #onerror: (error: Error) => void;
  #session: Listening | undefined;
  #resources: Map<string, Listening> | undefined;
  #closed: Error | undefined;

  constructor(connection: Connection, service: Service, onerror: (error: Error) => void) {
    this.#connection = connection;
    this.#service = service;
    this.#onerror = onerror;
  }

  get listening(): boolean {
    return this.#session !== undefined;
  }

  /**
   * Starts to listen for the session, or, where it does already, lets the service see the caller anew: the new exchange
   * is open before the old one ends, so nothing falls between them. Resolves when the service has acknowledged it.
   */
  async listen(): Promise<void> {
    const before = this.#session;
    const now = this.#open({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
    this.#session = now;
    try {
      await acknowledged(now);
    } catch (error) {
      // A service without subscriptions is fine: there will be nothing to hear.
      if (RpcError.from(error).code !== ErrorCode.MethodNotFound) throw error;
    } finally {
      before?.exchange.abort(new Error('Superseded by a newer subscription'));
    }
  }

  /** @throws RpcError where the service refuses, or there are too many. */
  async subscribe(uri: string): Promise<void> {
    this.#resources ??= new Map();
    if (this.#resources.has(uri)) return;
    if (this.#resources.size >= MAX_SUBSCRIPTIONS) {
      throw new RpcError(ErrorCode.InvalidRequest, `A session may subscribe to at most ${MAX_SUBSCRIPTIONS} resources`);
    }
    const listening = this.#open({ resourceSubscriptions: [uri] });
    this.#resources.set(uri, listening);
    try {
      const honoured = await acknowledged(listening);
      if (!honoured.resourceSubscriptions?.includes(uri)) {
        throw new RpcError(ErrorCode.InvalidParams, `The server does not offer updates of ${uri}`);
      }
    } catch (error) {
      if (this.#resources.get(uri) === listening) this.#resources.delete(uri);
      listening.exchange.abort(RpcError.from(error));
      throw error;
    }
  }

  async unsubscribe(uri: string): Promise<void> {
    const listening = this.#resources?.get(uri);
    if (!listening) return;
    this.#resources!.delete(uri);
    listening.exchange.abort(new Error('Unsubscribed'));
    await listening.over.catch(() => {});
  }

  close(reason: Error): void {
    this.#closed = reason;
    this.#session?.exchange.abort(reason);
    for (const { exchange } of this.#resources?.values() ?? []) exchange.abort(reason);
    this.#resources = undefined;
  }

  #open(filter: SubscriptionFilter): Listening {
    const exchange = new ListenExchange(this.#connection, filter);
    if (this.#closed) exchange.abort(this.#closed);
    const over = this.#service(exchange);
    over.catch((error: unknown) => {
      const { code } = RpcError.from(error);
      if (!exchange.ended && code !== ErrorCode.MethodNotFound) this.#onerror(RpcError.from(error));
    });
    return { exchange, over };
  }
}

/** Resolves with the acknowledgement. Rejects where the service ended the exchange without one. */
function acknowledged({ exchange, over }: Listening): Promise<SubscriptionFilter> {
  return Promise.race([
    exchange.acknowledged,
    over.then(() => Promise.reject(new RpcError(ErrorCode.InternalError, 'The subscription ended before it began'))),
  ]);
}
