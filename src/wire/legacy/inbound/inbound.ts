import { CONNECTION_CLOSED, PendingRequests } from '../../../jsonrpc/pending.ts';
import type { TimeLimits } from '../../../base/deadline.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import {
  errorResponse,
  isRequestId,
  notification,
  resultResponse,
  type JsonObject,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import { invoke } from '../../../core/invoke.ts';
import { completeRounds, needsInput } from '../../../core/rounds.ts';
import { inTurn } from '../../../base/turn.ts';
import { missingCapability } from '../../../protocol/capabilities.ts';
import { isLogLevel, reaches, type LogLevel } from '../../../protocol/logging.ts';
import { isNotificationMethod, Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { LATEST_LEGACY_REVISION, profileOf, REVISIONS, type RevisionProfile } from '../../../protocol/revisions.ts';
import { TAKEN, type MessageExtra, type Transport } from '../../../transport/transport.ts';
import { Recent } from '../../../base/recent.ts';
import { NoticeExchange, RequestExchange, type Asking, type Connection, type Question } from './exchange.ts';
import { toLegacyError } from '../translate/errors.ts';
import { wrongInitialize } from './handshake.ts';
import { knowsNotice, toLegacyNotice } from '../translate/notices.ts';
import { toLegacyQuestion, type LegacyQuestion } from '../translate/questions.ts';
import { toInitializeResult, toLegacyResult } from '../translate/results.ts';
import { SessionCaller } from './session-caller.ts';
import { SessionSubscriptions } from './session-subscriptions.ts';
import { TotalLoad } from './total-load.ts';

export interface LegacyInboundOptions {
  /** Receives errors that cannot be reported to a caller. Default: none. */
  readonly onerror?: ((error: Error) => void) | undefined;
  /**
   * How long a question to the client waits for an answer. Progress restarts the time. Milliseconds, default 10
   * minutes.
   */
  readonly askTimeout?: number;
  /** The longest time for a question, whatever its progress. Milliseconds, default 1 hour. */
  readonly maxAskTimeout?: number;
}

/** The most bytes of one client's requests in flight. */
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024;
/** The longest URI of a subscription, in characters. */
const MAX_URI = 8192;
/** The most requests of one client in flight. They can pile up because closing a connection cancels none. */
const MAX_IN_FLIGHT = 10_000;
/** The most messages that may wait while `initialize` is being answered. */
const MAX_WAITING = 100;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

interface Waiting {
  readonly message: Message;
  readonly extra: MessageExtra | undefined;
}

/**
 * Serves one client of a handshake revision (2024-11-05 to 2025-11-25): turns the messages of one connection into
 * exchanges for a service.
 *
 * What only these revisions have ends here: the handshake, `ping`, `logging/setLevel`, `resources/subscribe`, and
 * requests from server to client.
 */
export class LegacyInbound implements Connection {
  readonly caller = new SessionCaller();
  readonly #service: Service;
  readonly #transport: Transport;
  readonly #limits: TimeLimits;
  readonly #onerror: (error: Error) => void;
  readonly #requests = new IdTable<RequestId, RequestExchange>();
  /** The bytes of the requests in flight, if the transport reports them. */
  #bytes = 0;
  readonly #total: TotalLoad;
  readonly #questions = new PendingRequests();
  /** The request behind each question, by the id of the question. */
  #askers: Map<RequestId, RequestExchange> | undefined;
  /** Questions that wait until the client is initialized, by id. */
  #held: Map<RequestId, () => void> | undefined;
  readonly #subscriptions: SessionSubscriptions;
  /** Questions that were withdrawn recently. */
  #withdrawn: Recent | undefined;
  /** Progress tokens of open questions. Progress extends the time of a question. */
  #tokens: Map<RequestId, RequestId> | undefined;
  #phase: 'new' | 'opening' | 'open' | 'closed' = 'new';
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #serverCapabilities: JsonObject = {};
  /** The last log level that was confirmed to the client. */
  #agreedLevel: LogLevel | undefined;
  /** Called when no request is in flight any more. */
  onidle: (() => void) | undefined;

  /**
   * @param total counts the requests of all connections of a service.
   * @param subscribed counts the subscriptions of all sessions of a service.
   */
  constructor(
    service: Service,
    transport: Transport,
    options: LegacyInboundOptions = {},
    total = new TotalLoad(),
    subscribed = new TotalLoad(),
  ) {
    this.#service = service;
    this.#transport = transport;
    this.#total = total;
    this.#limits = { timeout: options.askTimeout ?? 600_000, maxTimeout: options.maxAskTimeout ?? 3_600_000 };
    this.#onerror = options.onerror ?? (() => {});
    this.#subscriptions = new SessionSubscriptions(this, service, subscribed, this.#onerror);
  }

  get #profile(): RevisionProfile {
    return REVISIONS[this.caller.revision];
  }

  /** The number of requests in flight. */
  get inFlight(): number {
    return this.#requests.size;
  }

  /** The client sends nothing more, but still waits for responses. */
  end(): void {
    this.#questions.close(new RpcError(CONNECTION_CLOSED, 'The client has closed its side of the connection'));
  }

  receive(message: Message, extra: MessageExtra | undefined): void {
    if (!('method' in message)) {
      if (!this.#settle(message, extra?.bytes ?? 0) && !this.#withdrawn?.has(message.id)) {
        this.#onerror(new Error(`A response came for ${JSON.stringify(message.id)}, which nothing waits for`));
      }
    } else if (this.#phase === 'opening' && message.method !== Method.Ping) {
      this.#wait(message, extra);
    } else if ('id' in message) {
      this.#receiveRequest(message, extra);
    } else {
      this.#receiveNotification(message);
    }
  }

  /**
   * Settles a question. The answer counts towards the asking request's bytes while that is in flight. Returns whether
   * anything waited for it.
   */
  #settle(response: Response, bytes: number): boolean {
    const asker = isRequestId(response.id) ? this.#askers?.get(response.id) : undefined;
    if (!asker || this.#requests.get(asker.id) !== asker) return this.#questions.settle(response);
    const own = this.#bytes + bytes;
    if ('result' in response && (own > MAX_BYTES_IN_FLIGHT || !this.#total.hasRoom(bytes, own))) {
      const message = 'The answer was dropped: the requests in flight are too large with it';
      return this.#questions.settle(errorResponse(response.id, { code: ErrorCode.InternalError, message }));
    }
    asker.bytes += bytes;
    this.#bytes += bytes;
    this.#total.add(bytes);
    return this.#questions.settle(response);
  }

  /**
   * Keeps a message until `initialize` has been answered, then handles all of them in order. A cancellation of
   * `initialize` therefore always comes too late: it MUST NOT be cancelled (2025-11-25, basic/utilities/cancellation:
   * Behavior Requirements).
   */
  #wait(message: Request | Notification, extra: MessageExtra | undefined): void {
    const bytes = extra?.bytes ?? 0;
    const own = this.#waitingBytes + bytes;
    const room = this.#waiting.length < MAX_WAITING && own <= MAX_WAITING_BYTES && this.#total.hasRoom(bytes, own);
    if (room) {
      this.#waiting.push({ message, extra });
      this.#waitingBytes = own;
      this.#total.add(bytes);
    } else if ('id' in message) this.#refuse(message.id, 'Too many requests before the answer to initialize');
    else this.#onerror(new Error(`${message.method} was dropped: too much came before the answer to initialize`));
  }

  #receiveRequest(message: Request, extra: MessageExtra | undefined): void {
    const { id, method } = message;
    const params = message.params ?? {};
    if (this.#requests.has(id)) {
      // This error carries no id, because the client would take it for the response to the first request with the same
      // id.
      return this.#refuse(undefined, `Request id ${JSON.stringify(id)} is still in use`);
    }
    if (method === Method.Initialize) return void this.#initialize(id, params, extra);
    if (method === Method.Ping) return this.#send(resultResponse(id, {}));
    if (this.#phase !== 'open') return this.#refuse(id, `${method} came before initialize`);
    if (isNotificationMethod(method)) return this.#refuse(id, `${method} is a notification and must not carry an id`);
    if (this.#requests.size >= MAX_IN_FLIGHT) {
      return this.#refuse(id, `More than ${MAX_IN_FLIGHT} requests are in flight; wait for some of them`);
    }
    // The subscriptions were lost with the upstream server. It may be back, so subscribe again.
    if (this.#subscriptions.lapsed) this.#subscriptions.listen().catch(this.#onerror);
    const bytes = extra?.bytes ?? 0;
    if (this.#bytes > 0 && this.#bytes + bytes > MAX_BYTES_IN_FLIGHT) {
      return this.#refuse(
        id,
        `More than ${MAX_BYTES_IN_FLIGHT} bytes of requests are in flight; wait for some of them`,
      );
    }
    if (!this.#total.hasRoom(bytes, this.#bytes + bytes)) {
      return this.#refuse(id, 'The requests of all clients that are in flight are too large together; try again later');
    }

    const exchange = new RequestExchange(this, id, method, params, extra);
    this.#hold(exchange);
    this.#answerWith(exchange, invoke(this.#serve, exchange));
  }

  readonly #serve: Service = (exchange) => this.#session(exchange) ?? this.#service(exchange);

  #answerWith(exchange: RequestExchange, answer: Promise<JsonObject>): void {
    answer.then(
      (result) => this.#succeed(exchange, result),
      (error: unknown) => this.#fail(exchange, error),
    );
  }

  #succeed(exchange: RequestExchange, result: JsonObject): void {
    try {
      // A caller with a session can be asked while its request is in flight.
      if (needsInput(result)) this.#answerWith(exchange, completeRounds(this.#service, exchange, result));
      else this.#answer(exchange, resultResponse(exchange.id, toLegacyResult(result, exchange.method, this.#profile)));
    } catch (error) {
      // The service returned something that is not an object. The caller still needs a response.
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: RequestExchange, error: unknown): void {
    this.#answer(exchange, errorResponse(exchange.id, toLegacyError(error, this.#profile, exchange).toObject()));
  }

  /** Handles requests that concern the session itself, and requests that this era does not have. */
  #session(exchange: Exchange): Promise<JsonObject> | undefined {
    const { method, params } = exchange;
    switch (method) {
      case Method.SetLevel:
        return this.#setLevel(params);
      case Method.Subscribe:
        return this.#subscribe(params, (uri) => this.#subscriptions.subscribe(uri, exchange.caller));
      case Method.Unsubscribe:
        return this.#subscribe(params, (uri) => this.#subscriptions.unsubscribe(uri));
      case Method.Discover:
      case Method.Listen:
        throw new RpcError(
          ErrorCode.MethodNotFound,
          `Method not found: ${method} is not part of revision ${this.caller.revision}`,
        );
      default:
        return undefined;
    }
  }

  #receiveNotification({ method, params = {} }: Notification): void {
    if (this.#phase !== 'open') {
      return this.#onerror(new Error(`${method} came before initialize and was ignored`));
    }
    switch (method) {
      case NotificationMethod.Initialized:
        if (!this.#subscriptions.begun) this.#subscriptions.listen().catch(this.#onerror);
        for (const send of this.#held?.values() ?? []) send();
        this.#held = undefined;
        return;
      case NotificationMethod.Cancelled:
        return this.#cancel(params);
      case NotificationMethod.Progress: {
        const question = this.#tokens?.get(params['progressToken']);
        if (question !== undefined) this.#questions.extend(question);
        break;
      }
    }
    if (!isNotificationMethod(method)) {
      return this.#onerror(
        new Error(`A notification named ${JSON.stringify(method)} was ignored: MCP's begin with "notifications/"`),
      );
    }
    invoke(this.#service, new NoticeExchange(this, method, params)).catch((error: unknown) =>
      this.#onerror(RpcError.from(error)),
    );
  }

  /** Version negotiation and the exchange of capabilities (2025-11-25, basic/lifecycle: Initialization). */
  async #initialize(id: RequestId, params: JsonObject, extra: MessageExtra | undefined): Promise<void> {
    if (this.#phase !== 'new') return this.#refuse(id, 'The connection is already initialized');
    const wrong = wrongInitialize(params);
    if (wrong)
      return this.#send(errorResponse(id, { code: ErrorCode.InvalidParams, message: `Invalid params: ${wrong}` }));
    const { caller } = this;
    // An unknown revision, or one without a handshake, is answered with the newest that has one (Version Negotiation).
    const profile = profileOf(params['protocolVersion']);
    caller.revision = profile?.era === 'legacy' ? profile.revision : LATEST_LEGACY_REVISION;
    caller.clientInfo = params['clientInfo'];
    caller.capabilities = params['capabilities'];
    caller.principal = extra?.principal;
    caller.auth = extra?.auth;
    this.#phase = 'opening';
    const exchange = new RequestExchange(this, id, Method.Discover, {}, extra);
    this.#hold(exchange);
    try {
      const discovered = await this.#service(exchange);
      this.#serverCapabilities = discovered['capabilities'] ?? {};
      this.#transport.setProtocolVersion?.(caller.revision);
      this.#open('open', exchange, resultResponse(id, toInitializeResult(discovered, this.#profile)));
    } catch (error) {
      this.#open('new', exchange, errorResponse(id, toLegacyError(error, this.#profile, exchange).toObject()));
    }
  }

  #open(phase: 'open' | 'new', exchange: RequestExchange, response: Message): void {
    if (this.#phase !== 'opening') return;
    this.#phase = phase;
    this.#answer(exchange, response);
    for (const { message, extra } of this.#takeWaiting()) this.receive(message, extra);
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = this.#waiting;
    this.#total.add(-this.#waitingBytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return waiting;
  }

  async #setLevel({ level }: JsonObject): Promise<JsonObject> {
    this.#demand('logging', this.#serverCapabilities['logging']);
    if (!isLogLevel(level))
      throw new RpcError(ErrorCode.InvalidParams, `Invalid params: unknown log level ${JSON.stringify(level)}`);
    this.caller.logLevel = level;
    try {
      if (this.#subscriptions.begun) await this.#subscriptions.listen();
    } catch (error) {
      // If another level was set meanwhile, that request's result decides.
      if (this.caller.logLevel === level) this.caller.logLevel = this.#agreedLevel;
      throw error;
    }
    if (this.caller.logLevel === level) this.#agreedLevel = level;
    return {};
  }

  async #subscribe({ uri }: JsonObject, change: (uri: string) => Promise<void>): Promise<JsonObject> {
    this.#demand('resources.subscribe', this.#serverCapabilities['resources']?.['subscribe']);
    if (typeof uri !== 'string') throw new RpcError(ErrorCode.InvalidParams, 'Invalid params: "uri" must be a string');
    if (uri.length > MAX_URI) {
      throw new RpcError(ErrorCode.InvalidParams, `Invalid params: "uri" is longer than ${MAX_URI} characters`);
    }
    await change(uri);
    return {};
  }

  #demand(name: string, capability: unknown): void {
    if (!capability)
      throw new RpcError(ErrorCode.MethodNotFound, `Method not found: the server does not have the ${name} capability`);
  }

  /** A cancelled request is not answered (basic/utilities/cancellation: Behavior Requirements). */
  #cancel({ requestId, reason }: JsonObject): void {
    if (!isRequestId(requestId)) return;
    const exchange = this.#requests.get(requestId);
    if (!exchange) return;
    this.#forget(exchange);
    exchange.abort(
      new RpcError(ErrorCode.InternalError, typeof reason === 'string' ? `Cancelled: ${reason}` : 'Cancelled'),
    );
  }

  #answer(exchange: RequestExchange, response: Message): void {
    if (exchange.ended) return;
    exchange.answer();
    this.#forget(exchange);
    this.#send(response);
  }

  #hold(exchange: RequestExchange): void {
    this.#requests.set(exchange.id, exchange);
    this.#bytes += exchange.bytes;
    this.#total.add(exchange.bytes);
  }

  #forget(exchange: RequestExchange): void {
    this.#requests.delete(exchange.id);
    this.#bytes -= exchange.bytes;
    this.#total.add(-exchange.bytes);
    if (this.#requests.size === 0) this.onidle?.();
  }

  #refuse(id: RequestId | undefined, why: string): void {
    this.#send(errorResponse(id, { code: ErrorCode.InvalidRequest, message: `Invalid request: ${why}` }));
  }

  #send(message: Message): void {
    if (this.#phase === 'closed') return;
    const sent = this.#transport.send(message);
    if (sent === TAKEN) return;
    sent.catch((error: unknown) => {
      this.#onerror(error as Error);
      // The result cannot be written as JSON. The caller still needs a response.
      if ('result' in message) this.#send(errorResponse(message.id, RpcError.from(error).toObject()));
      else if ('error' in message && message.error.data !== undefined) {
        this.#send(errorResponse(message.id, { code: message.error.code, message: message.error.message }));
      }
    });
  }

  notify(method: string, params: JsonObject | undefined, related: RequestId | undefined): Promise<void> {
    if (this.#phase === 'closed') return inTurn(TAKEN);
    if (method === NotificationMethod.Message && !reaches(params?.['level'], this.caller.logLevel))
      return inTurn(TAKEN);
    const profile = this.#profile;
    if (!knowsNotice(method, profile)) return inTurn(TAKEN);
    const message = notification(method, toLegacyNotice(method, params, profile));
    const sent = this.#transport.send(message, { relatedRequestId: related });
    // Code that awaits it gets the error. If nothing awaits it, the rejection must not end the process.
    if (sent !== TAKEN) sent.catch(this.#onerror);
    return inTurn(sent);
  }

  ask({ method, params, signal, outlivesRequest }: Question, asking: Asking): Promise<JsonObject> {
    if (asking.ended) return Promise.reject(asking.ended);
    if (signal?.aborted) return Promise.reject(signal.reason);
    const missing = missingCapability(method, params, this.caller.capabilities, this.#profile);
    if (missing) {
      return Promise.reject(
        new RpcError(
          ErrorCode.MethodNotFound,
          `${method} was not sent: the client does not have the ${missing} capability`,
        ),
      );
    }
    let asked: LegacyQuestion;
    try {
      asked = toLegacyQuestion(method, params, this.#profile);
    } catch (error) {
      return Promise.reject(RpcError.from(error));
    }
    const { restore } = asked;
    const { id, result } = this.#questions.open(
      method,
      asked.params,
      this.#limits,
      (message) => this.#sendQuestion(message, asking.stream),
      (expired, reason) => this.#withdraw(expired, reason, asking.stream),
    );
    const giveUp = (reason: Error): void => {
      if (this.#questions.cancel(id, reason)) this.#withdraw(id, reason.message, asking.stream);
    };
    const taken = (): void => giveUp(signal!.reason);
    if (!outlivesRequest) (asking.questions ??= new Set()).add(giveUp);
    signal?.addEventListener('abort', taken);
    const token: unknown = params['_meta']?.[Meta.ProgressToken];
    if (isRequestId(token)) (this.#tokens ??= new Map()).set(token, id);
    // An answer that comes after the end of the request counts towards no request.
    if (asking instanceof RequestExchange && !outlivesRequest) (this.#askers ??= new Map()).set(id, asking);
    return (restore ? result.then(restore) : result).finally(() => {
      this.#askers?.delete(id);
      asking.questions?.delete(giveUp);
      signal?.removeEventListener('abort', taken);
      if (isRequestId(token)) this.#tokens?.delete(token);
    });
  }

  /** The server SHOULD NOT send requests before the client is initialized (basic/lifecycle: Initialization). */
  #sendQuestion(message: Request, related: RequestId | undefined): Promise<void> {
    const send = (): Promise<void> => this.#transport.send(message, { relatedRequestId: related });
    if (this.#subscriptions.begun) return send();
    return new Promise((resolve, reject) => {
      (this.#held ??= new Map()).set(message.id, () => void send().then(resolve, reject));
    });
  }

  /** Tells the client that a question is withdrawn (basic/utilities/cancellation). */
  #withdraw(id: RequestId, reason: string, related: RequestId | undefined): void {
    if (this.#held?.delete(id)) return;
    (this.#withdrawn ??= new Recent()).add(id);
    void this.notify(NotificationMethod.Cancelled, { requestId: id, reason }, related);
  }

  /** Answers all requests in flight with this error. */
  giveUp(error: RpcError): void {
    for (const exchange of [...this.#requests.values()]) {
      // Nothing that belongs to a request may follow its response.
      exchange.withdrawQuestions(error);
      this.#fail(exchange, error);
      exchange.abort(error);
    }
  }

  /** Called when the connection has closed. */
  close(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#takeWaiting();
    const reason = new RpcError(CONNECTION_CLOSED, 'Connection closed');
    this.#questions.close(reason);
    for (const exchange of this.#requests.values()) exchange.abort(reason);
    this.#requests.clear();
    this.#total.add(-this.#bytes);
    this.#bytes = 0;
    this.#subscriptions.close(reason);
    this.caller.session.abort(reason);
  }
}
