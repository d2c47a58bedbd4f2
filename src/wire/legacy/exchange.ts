import { BaseExchange } from '../../core/base-exchange.ts';
import type { JsonObject, RequestId } from '../../jsonrpc/message.ts';
import { NotAsked, type AskOptions, type Caller, type Exchange } from '../../core/exchange.ts';
import { Meta, Method, Notice } from '../../protocol/methods.ts';
import type { AuthInfo, SubscriptionFilter } from '../../protocol/types.ts';
import type { MessageExtra } from '../../transport/transport.ts';
import { withoutMeta } from './meta.ts';

/** What an exchange needs of the connection that it came in on. */
export interface Connection {
  readonly caller: Caller;
  /** Sends a notification, on the stream of `related` or on that of the session. Reports a loss; need not be awaited. */
  notify(method: string, params: JsonObject | undefined, related: RequestId | undefined): Promise<void>;
  /** Asks the client in the name of `asking`, on its stream. */
  ask(question: Question, asking: Asking): Promise<JsonObject>;
}

export interface Question {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal | undefined;
  /** See `AskOptions`. */
  readonly outlivesRequest: boolean;
}

/** One who waits for answers from the client, so that it can be told to stop waiting. */
export interface Asking {
  readonly ended: Error | undefined;
  questions: Set<(reason: Error) => void> | undefined;
  /** The request whose stream carries what belongs to it; undefined for the stream of the session. */
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

  /** Ends the exchange from the caller's side: the signal fires, and what was asked of the caller is given up. */
  override abort(reason: Error): void {
    if (this.ended) return;
    this.fire(reason);
    this.withdrawQuestions(reason);
  }

  /** Rejects the questions that wait for answers of the client. */
  withdrawQuestions(reason: Error): void {
    for (const giveUp of this.questions ?? []) giveUp(reason);
  }

  abstract get stream(): RequestId | undefined;
  abstract notify(method: string, params?: JsonObject): Promise<void>;
  abstract ask(method: string, params: JsonObject, options?: AskOptions): Promise<JsonObject>;
}

/** A request of the client. Its notifications and questions ride on the stream of the call, as long as that is open. */
export class RequestExchange extends ConnectionExchange {
  readonly id: RequestId;
  /** How large the request was, and the answers to what it asked, where that is much. */
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

  /** The session's caller, with what this request's own credential says. */
  override get caller(): Caller {
    const { auth } = this.#extra ?? {};
    if (!auth) return super.caller;
    return (this.#caller ??= withAuth(super.caller, auth));
  }

  override get stream(): RequestId | undefined {
    return this.#answered ? undefined : this.id;
  }

  /** The response is on its way. */
  answer(): void {
    this.#answered = true;
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    // Progress MUST stop after completion (basic/utilities/progress: Behavior Requirements); a cancelled call is nobody's.
    if (this.ended || (this.#answered && method === Notice.Progress)) return Promise.resolve();
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

/** The caller of a session, as a request shows it whose credential is not that of the first. */
function withAuth(caller: Caller, auth: AuthInfo): Caller {
  return {
    ...caller,
    auth,
    // It may change while the request is answered.
    get logLevel() {
      return caller.logLevel;
    },
  };
}

/** A notification of the client that belongs to no exchange: what the service says to it goes on the stream of the session. */
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
 * The `subscriptions/listen` exchange that the legacy side keeps in a client's name. Legacy revisions have no such
 * request: what the service notifies goes to the client as plain notifications of the session.
 */
export class ListenExchange extends NoticeExchange {
  #settle: { resolve: (honoured: SubscriptionFilter) => void; reject: (error: Error) => void } | undefined;
  /** Resolves with what the service agreed to; rejects where it ends the exchange before that. */
  readonly acknowledged: Promise<SubscriptionFilter>;
  /** Resolves when the service has ended the exchange. */
  finished: Promise<void> | undefined;
  readonly #caller: Caller;

  /** @param caller in whose name it is kept: the session's, as the request shows it that asked for it. */
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

  /** The service has ended the exchange. False where it had acknowledged it before. */
  over(reason: Error): boolean {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.reject(reason);
    return settle !== undefined;
  }

  override notify(method: string, params?: JsonObject): Promise<void> {
    if (this.ended) return Promise.resolve();
    if (method === Notice.Acknowledged) {
      this.#settle?.resolve(params?.['notifications'] ?? {});
      this.#settle = undefined;
      return Promise.resolve();
    }
    return super.notify(method, params && withoutMeta(params, Meta.SubscriptionId));
  }
}
