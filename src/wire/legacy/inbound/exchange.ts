import { BaseExchange } from '../../../core/base-exchange.ts';
import type { JsonObject, RequestId } from '../../../jsonrpc/message.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../../core/exchange.ts';
import { Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import type { AuthInfo, SubscriptionFilter } from '../../../protocol/types.ts';
import type { MessageExtra } from '../../../transport/transport.ts';
import type { RequestInFlight } from '../../requests-in-flight.ts';
import { withoutMeta } from '../../meta.ts';

/** What an exchange needs from its connection. */
export interface Connection {
  readonly caller: Caller;
  /**
   * Sends a notification on the stream of `related`, or else of the session. Reports its own failure, so callers need
   * not await it.
   */
  notify(method: string, params: JsonObject | undefined, related: RequestId | undefined): Promise<void>;
  /** Asks the client a question on behalf of an exchange, on its stream. */
  ask(asking: ConnectionExchange, method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject>;
}

/** An exchange with the client of one session. */
export abstract class ConnectionExchange extends BaseExchange implements Exchange {
  readonly method: string;
  readonly params: JsonObject;
  protected readonly connection: Connection;
  /** The request whose stream it uses. Undefined for the stream of the session. */
  abstract readonly stream: RequestId | undefined;

  constructor(connection: Connection, method: string, params: JsonObject) {
    super();
    this.connection = connection;
    this.method = method;
    this.params = params;
  }

  get caller(): Caller {
    return this.connection.caller;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.connection.notify(method, params, this.stream);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return this.ended ? Promise.reject(this.ended) : this.connection.ask(this, method, params, options);
  }
}

/** A request from the client. Its notifications and questions use the stream of the call while that stream is open. */
export class RequestExchange extends ConnectionExchange {
  readonly request: RequestInFlight;
  readonly #extra: MessageExtra | undefined;
  #caller: Caller | undefined;

  constructor(
    connection: Connection,
    request: RequestInFlight,
    method: string,
    params: JsonObject,
    extra: MessageExtra | undefined,
  ) {
    super(connection, method, params);
    this.request = request;
    this.#extra = extra;
  }

  get header(): ((name: string) => string | undefined) | undefined {
    return this.#extra?.header;
  }

  /** The session's caller, with the credential of this request. */
  override get caller(): Caller {
    const { auth } = this.#extra ?? {};
    if (!auth) return super.caller;
    return (this.#caller ??= withAuth(super.caller, auth));
  }

  get stream(): RequestId | undefined {
    return this.request.open ? this.request.id : undefined;
  }

  override notify(method: string, params?: JsonObject): Promise<void> {
    // Progress MUST stop after completion (basic/utilities/progress: Behavior Requirements). A cancelled call has no
    // receiver.
    const over = this.ended || (!this.request.open && method === NotificationMethod.Progress);
    return over ? Promise.resolve() : super.notify(method, params);
  }

  override ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    if (!this.request.open || this.ended) return Promise.reject(new NotAsked(method, this.method));
    return super.ask(method, params, options);
  }
}

/** The session's caller, as seen by a request with another credential than the first. */
function withAuth(caller: Caller, auth: AuthInfo): Caller {
  return {
    ...caller,
    auth,
    // A getter, because the value may change while the request is being answered.
    get logLevel() {
      return caller.logLevel;
    },
  };
}

/**
 * A notification from the client that belongs to no request. Whatever the service sends for it uses the stream of the
 * session.
 */
export class NoticeExchange extends ConnectionExchange {
  readonly stream = undefined;
}

/**
 * The `subscriptions/listen` exchange that the legacy side opens for a client. Legacy revisions have no such request,
 * so its notifications reach the client as plain notifications of the session.
 */
export class ListenExchange extends NoticeExchange {
  #settle: { resolve: (honoured: SubscriptionFilter) => void; reject: (error: Error) => void } | undefined;
  /** Resolves with the filter that the service agreed to. Rejects if the service ends the exchange first. */
  readonly acknowledged: Promise<SubscriptionFilter>;
  /** Resolves when the service has ended the exchange. */
  finished: Promise<void> | undefined;
  readonly #caller: Caller;

  /** @param caller the session's caller, with the credential of the request that asked for this subscription. */
  constructor(connection: Connection, filter: SubscriptionFilter, caller: Caller) {
    super(connection, Method.Listen, { notifications: filter });
    this.#caller = caller;
    this.acknowledged = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  override get caller(): Caller {
    return this.#caller;
  }

  /** Called when the service has ended the exchange. Returns false if the service had acknowledged it. */
  over(reason: Error): boolean {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.reject(reason);
    return settle !== undefined;
  }

  override notify(method: string, params?: JsonObject): Promise<void> {
    if (this.ended) return Promise.resolve();
    if (method === NotificationMethod.Acknowledged) {
      this.#settle?.resolve(params?.['notifications'] ?? {});
      this.#settle = undefined;
      return Promise.resolve();
    }
    return super.notify(method, params && withoutMeta(params, Meta.SubscriptionId));
  }
}
