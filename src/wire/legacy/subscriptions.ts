import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import type { Service } from '../../core/exchange.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { ListenExchange, type Connection } from './exchange.ts';

/** More resource subscriptions than this in one session are refused. */
const MAX_SUBSCRIPTIONS = 1000;

/**
 * What a session listens to: one `subscriptions/listen` exchange for all that is said to the session, and one for each
 * resource that the client subscribed to.
 */
export class Subscriptions {
  readonly #connection: Connection;
  readonly #service: Service;
  readonly #onerror: (error: Error) => void;
  #session: ListenExchange | undefined;
  #resources: Map<string, ListenExchange> | undefined;
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
      await now.acknowledged;
    } catch (error) {
      // A service without subscriptions is fine: there will be nothing to hear. So is one that heard of the end first.
      if (!now.ended && RpcError.from(error).code !== ErrorCode.MethodNotFound) throw error;
    } finally {
      before?.abort(new Error('Superseded by a newer subscription'));
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
      const honoured = await listening.acknowledged;
      if (!honoured.resourceSubscriptions?.includes(uri)) {
        throw new RpcError(ErrorCode.InvalidParams, `The server does not offer updates of ${uri}`);
      }
    } catch (error) {
      if (this.#resources.get(uri) === listening) this.#resources.delete(uri);
      listening.abort(RpcError.from(error));
      throw error;
    }
  }

  async unsubscribe(uri: string): Promise<void> {
    const listening = this.#resources?.get(uri);
    if (!listening) return;
    this.#resources!.delete(uri);
    listening.abort(new Error('Unsubscribed'));
    await listening.finished;
  }

  close(reason: Error): void {
    this.#closed = reason;
    this.#session?.abort(reason);
    for (const listening of this.#resources?.values() ?? []) listening.abort(reason);
    this.#resources = undefined;
  }

  #open(filter: SubscriptionFilter): ListenExchange {
    const exchange = new ListenExchange(this.#connection, filter);
    if (this.#closed) exchange.abort(this.#closed);
    const failed = (thrown: unknown): void => {
      const error = RpcError.from(thrown);
      if (!exchange.over(error) && !exchange.ended) this.#onerror(error);
    };
    try {
      exchange.finished = this.#service(exchange).then(
        () => void exchange.over(new RpcError(ErrorCode.InternalError, 'The subscription ended before it began')),
        failed,
      );
    } catch (error) {
      failed(error);
    }
    return exchange;
  }
}
