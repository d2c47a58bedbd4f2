import { BaseExchange } from '../../../core/base-exchange.ts';
import type { JsonObject, RequestId } from '../../../jsonrpc/message.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../../core/exchange.ts';
import { Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import type { AuthInfo, SubscriptionFilter } from '../../../protocol/types.ts';
import type { MessageExtra } from '../../../transport/transport.ts';
import { withoutMeta } from '../translate/meta.ts';

/** What an exchange needs from its connection. */
export interface Connection {
  readonly caller: Caller;
  /**
   * Sends a notification on the stream of `related`, or of the session. Reports a failure itself, so callers need not
   * await it.
   */
  notify(method: string, params: JsonObject | undefined, related: RequestId | undefined): Promise<void>;
  /** Asks the client a question on behalf of `asking`, on its stream. */
  ask(question: Question, asking: Asking): Promise<JsonObject>;
}

export interface Question {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal | undefined;
  /** See `AskOptions`. */
  readonly outlivesRequest: boolean;
}

/** Something that waits for the client's answers and can be told to stop. */
export interface Asking {
  readonly ended: Error | undefined;
  questions: Set<(reason: Error) => void> | undefined;
  /** The request that the stream belongs to. Undefined for the stream of the session. */
  readonly stream: RequestId | undefined;
}

abstract class ConnectionExchange extends BaseExchange implements Exchange, Asking {
  readonly method: string;
  readonly params: JsonObject;
  protected readonly connection: Connection;
  questions: Set<(reason: Error) => void> | undefined;

  constructor(connection: Connection, method: string, params: JsonObject) {
    super();
    this.connection = connection;
    this.method = method;
    this.params = params;
  }

  get caller(): Caller {
    return this.connection.caller;
  }

  /** Ends the exchange from the caller's side: the signal fires, and open questions to the caller are withdrawn. */
  override abort(reason: Error): void {
    if (this.ended) return;
    this.fire(reason);
    this.withdrawQuestions(reason);
  }

  /** Rejects the questions that still wait for the client's answer. */
  withdrawQuestions(reason: Error): void {
    for (const giveUp of this.questions ?? []) giveUp(reason);
  }

  abstract get stream(): RequestId | undefined;
  abstract notify(method: string, params?: JsonObject): Promise<void>;
  abstract ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject>;
}

/** A request from the client. Its notifications and questions use the stream of the call while that stream is open. */
export class RequestExchange extends ConnectionExchange {
  readonly id: RequestId;
  /** The size of the request and of the large answers to its questions. */
  bytes: number;
  readonly #extra: MessageExtra | undefined;
  #caller: Caller | undefined;
  #answered = false;

  constructor(connection: Connection, id: RequestId, method: string, params: JsonObject, extra?: MessageExtra) {
    super(connection, method, params);
    this.id = id;
    this.bytes = extra?.bytes ?? 0;
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

  override get stream(): RequestId | undefined {
    return this.#answered ? undefined : this.id;
  }

  /** Marks the response as sent. */
  answer(): void {
    this.#answered = true;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    // Progress MUST stop after completion (basic/utilities/progress: Behavior Requirements). A cancelled call has no
    // receiver.
    if (this.ended || (this.#answered && method === NotificationMethod.Progress)) return Promise.resolve();
    return this.connection.notify(method, params, this.stream);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    if (this.#answered || this.ended) return Promise.reject(new NotAsked(method, this.method));
    return this.connection.ask(question(method, params, options), this);
  }
}

function question(method: string, params: JsonObject, { signal, outlivesRequest = false }: AskOptions = {}): Question {
  return { method, params, signal, outlivesRequest };
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
  override get stream(): undefined {
    return undefined;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.connection.notify(method, params, undefined);
  }

  ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject> {
    return this.connection.ask(question(method, params, options), this);
  }
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
