import { printableError } from '../../../base/printable.ts';
import { CONNECTION_CLOSED, connectionClosed, unexpectedResponse } from '../../../jsonrpc/pending.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  notification,
  resultResponse,
  type JsonObject,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import { invoke } from '../../../core/invoke.ts';
import { completeRounds, needsInput } from '../../../core/rounds.ts';
import { UNAVAILABLE, Unavailable } from '../../../core/unavailable.ts';
import { without } from '../../../jsonrpc/shape.ts';
import { paced } from '../../../base/paced.ts';
import { quoting, shortJson } from '../../../base/short-text.ts';
import { isLogLevel, reaches, type LogLevel } from '../../../protocol/logging.ts';
import { isNotificationMethod, CAN_REQUIRE_INPUT, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { LATEST_LEGACY_REVISION, profileOf, REVISIONS, type RevisionProfile } from '../../../protocol/revisions.ts';
import { SENT_AT_ONCE, type MessageExtra, type Transport } from '../../../transport/transport.ts';
import { answerInTurns } from '../../large-results.ts';
import { progressTokenOf } from '../../progress-token.ts';
import type { RequestInFlight, RequestsInFlight } from '../../requests-in-flight.ts';
import type { TotalLoad } from '../../total-load.ts';
import { ClientQuestions } from './client-questions.ts';
import { NoticeExchange, RequestExchange, type Connection } from './exchange.ts';
import { toLegacyError } from '../translate/errors.ts';
import { wrongInitialize } from './handshake.ts';
import { knowsNotice, toLegacyNotice } from '../translate/notices.ts';
import { toInitializeResult, toLegacyResult } from '../translate/results.ts';
import { SessionCaller } from './session-caller.ts';
import { SessionSubscriptions } from './session-subscriptions.ts';

export interface LegacyInboundOptions {
  /** Receives errors that cannot be reported to a caller. */
  readonly onerror: (error: Error) => void;
  /** How long a question to the client waits for an answer. Progress restarts the time. Default 10 minutes. */
  readonly askTimeout?: number | undefined;
  /** The longest time for a question, whatever its progress. Default 1 hour. */
  readonly maxAskTimeout?: number | undefined;
  /** Counts the subscriptions of the sessions of all connections. */
  readonly subscribed: TotalLoad;
}

const LIST_CHANGES = [
  ['tools', NotificationMethod.ToolsListChanged],
  ['prompts', NotificationMethod.PromptsListChanged],
  ['resources', NotificationMethod.ResourcesListChanged],
] as const;
/** The longest URI of a subscription, in characters. */
const MAX_URI = 8192;
/** The most messages that may wait while `initialize` is being answered. */
const MAX_WAITING = 100;
/** A larger notification is dropped instead of waiting. The size of requests is limited elsewhere. */
const MAX_WAITING_BYTES = 64 * 1024;
/**
 * Parameters that only a retry of 2026-07-28 has (patterns/mrtr). In this era, `completeRounds` passes them between the
 * rounds.
 */
const OF_RETRIES = ['requestState', 'inputResponses'];

/**
 * Serves one client of a handshake revision (2024-11-05 to 2025-11-25): turns the messages of one connection into
 * exchanges for a service.
 *
 * Some methods exist only in these revisions and do not reach the service: the handshake, `ping`, `logging/setLevel`,
 * `resources/subscribe`, and requests from server to client.
 */
export class LegacyInbound implements Connection {
  readonly caller = new SessionCaller();
  readonly #service: Service;
  readonly #transport: Transport;
  readonly #onerror: (error: Error) => void;
  readonly #questions: ClientQuestions;
  readonly #subscriptions: SessionSubscriptions;
  #phase: 'new' | 'opening' | 'open' = 'new';
  #closed: RpcError | undefined;
  /** Messages that came while `initialize` is being answered. */
  readonly #waiting = new Set<() => void>();
  #serverCapabilities: JsonObject = {};
  /** The last log level that was confirmed to the client. */
  #agreedLevel: LogLevel | undefined;

  constructor(service: Service, transport: Transport, requests: RequestsInFlight, options: LegacyInboundOptions) {
    const { askTimeout: timeout = 600_000, maxAskTimeout: maxTimeout = 3_600_000, onerror, subscribed } = options;
    this.#service = service;
    this.#transport = transport;
    this.#onerror = onerror;
    this.#questions = new ClientQuestions(this, transport, requests, { timeout, maxTimeout });
    this.#subscriptions = new SessionSubscriptions(this, service, subscribed, onerror);
  }

  get #profile(): RevisionProfile {
    return REVISIONS[this.caller.revision];
  }

  /** The client sends nothing more, but still waits for responses. */
  end(): void {
    this.#questions.close(new RpcError(CONNECTION_CLOSED, 'The client has closed its side of the connection'));
  }

  response(response: Response, bytes = 0): void {
    if (!this.#questions.settle(response, bytes)) this.#onerror(unexpectedResponse(response));
  }

  /** Answers one request. Never throws. */
  request(message: Request, extra: MessageExtra | undefined, request: RequestInFlight): void {
    const { method, params = {} } = message;
    if (method === Method.Ping) return request.answer(resultResponse(request.id, {}));
    if (this.#phase === 'opening') {
      if (this.#waiting.size >= MAX_WAITING) {
        return refuse(request, 'Too many requests before initialize was answered');
      }
      const take = (): void => this.request(message, extra, request);
      request.onclose = () => void this.#waiting.delete(take);
      return void this.#waiting.add(take);
    }
    if (method === Method.Initialize) return void this.#initialize(request, params, extra);
    if (this.#phase === 'new') return refuse(request, quoting`${method} came before initialize`);
    if (isNotificationMethod(method))
      return refuse(request, quoting`${method} is a notification and must not carry an id`);
    // The subscriptions were lost with the upstream server. It may be available again, so subscribe again.
    if (this.#subscriptions.lapsed) this.#subscriptions.listen().catch(this.#onerror);
    const exchange = this.#exchange(request, method, params, extra);
    this.#answerWith(exchange, invoke(this.#serve, exchange));
  }

  notification(message: Notification, extra: MessageExtra | undefined): void {
    const { method, params = {} } = message;
    if (this.#phase === 'opening') {
      if (this.#waiting.size < MAX_WAITING && (extra?.bytes ?? 0) <= MAX_WAITING_BYTES) {
        return void this.#waiting.add(() => this.notification(message, extra));
      }
      return this.#onerror(
        printableError(quoting`${method} was dropped: too many messages came before initialize was answered`),
      );
    }
    if (this.#phase === 'new') {
      return this.#onerror(printableError(quoting`${method} came before initialize and was ignored`));
    }
    switch (method) {
      case NotificationMethod.Initialized:
        if (!this.#subscriptions.begun) this.#subscriptions.listen().catch(this.#onerror);
        if (this.#transport.revived && this.#transport.sharedId === undefined) this.#sayListsChanged();
        return this.#questions.open();
      case NotificationMethod.Cancelled:
        return;
      case NotificationMethod.Progress:
        // Other tokens are not passed on: behind the service, a question to another client may have the same token.
        if (!this.#questions.extend(params)) return;
        break;
    }
    if (!isNotificationMethod(method)) {
      return this.#onerror(
        printableError(
          `A notification named ${shortJson(method)} was ignored: MCP notifications begin with "notifications/"`,
        ),
      );
    }
    invoke(this.#service, new NoticeExchange(this, method, params)).catch((error: unknown) =>
      this.#onerror(RpcError.from(error)),
    );
  }

  #exchange(
    request: RequestInFlight,
    method: string,
    params: JsonObject,
    extra: MessageExtra | undefined,
  ): RequestExchange {
    const own = CAN_REQUIRE_INPUT.has(method) ? without(params, OF_RETRIES) : params;
    const exchange = new RequestExchange(this, request, method, own, extra);
    // A variable first, for the garbage collector (`CallExtra`).
    const onclose = (reason?: string): void => {
      const cancelled = reason === undefined ? 'Cancelled' : quoting`Cancelled: ${reason}`;
      exchange.abort(this.#closed ?? new RpcError(ErrorCode.InternalError, cancelled));
    };
    request.onclose = onclose;
    return exchange;
  }

  readonly #serve: Service = (exchange) => {
    // Throws if the token is too long.
    progressTokenOf(exchange.params);
    return this.#session(exchange) ?? this.#service(exchange);
  };

  #answerWith(exchange: RequestExchange, answer: Promise<JsonObject>): void {
    answer.then(
      (result) => answerInTurns(result, exchange.caller, () => this.#succeed(exchange, result)),
      (error: unknown) => this.#fail(exchange, error),
    );
  }

  #succeed(exchange: RequestExchange, result: JsonObject): void {
    try {
      // A caller with a session can be asked while its request is in flight.
      if (needsInput(result)) this.#answerWith(exchange, completeRounds(this.#service, exchange, result));
      else
        this.#answer(
          exchange,
          resultResponse(exchange.request.id, toLegacyResult(result, exchange.method, this.#profile)),
        );
    } catch (error) {
      // The service returned something that is not an object. The caller still needs a response.
      this.#fail(exchange, error);
    }
  }

  #fail(exchange: RequestExchange, thrown: unknown): void {
    const error = toLegacyError(thrown, this.#profile, exchange);
    const status = error instanceof Unavailable ? UNAVAILABLE : undefined;
    this.#answer(exchange, errorResponse(exchange.request.id, error.toObject()), status);
  }

  #answer({ request, ended }: RequestExchange, response: Response, status?: number): void {
    if (!ended) request.answer(response, status);
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
          quoting`Method not found: ${method} is not part of revision ${this.caller.revision}`,
        );
      default:
        return undefined;
    }
  }

  /** Version negotiation and the exchange of capabilities (2025-11-25, basic/lifecycle: Initialization). */
  async #initialize(request: RequestInFlight, params: JsonObject, extra: MessageExtra | undefined): Promise<void> {
    if (this.#phase !== 'new') return refuse(request, 'The connection is already initialized');
    const wrong = wrongInitialize(params);
    if (wrong) return refuse(request, wrong, ErrorCode.InvalidParams);
    const { caller } = this;
    // An unknown revision, or one without a handshake, is answered with the newest that has one (Version Negotiation).
    const profile = profileOf(params['protocolVersion']);
    caller.revision = profile?.era === 'legacy' ? profile.revision : LATEST_LEGACY_REVISION;
    caller.clientInfo = params['clientInfo'];
    caller.capabilities = params['capabilities'];
    caller.principal = extra?.principal;
    caller.auth = extra?.auth;
    caller.address = extra?.address;
    caller.session.sharedId = this.#transport.sharedId;
    caller.session.revived = this.#transport.revived;
    this.#phase = 'opening';
    request.cancellable = false;
    const exchange = this.#exchange(request, Method.Discover, {}, extra);
    try {
      const discovered = await this.#service(exchange);
      this.#serverCapabilities = discovered['capabilities'] ?? {};
      const result = toInitializeResult(discovered, this.#profile);
      this.#transport.setProtocolVersion?.(caller.revision);
      this.#phase = 'open';
      this.#answer(exchange, resultResponse(request.id, result));
    } catch (error) {
      this.#phase = 'new';
      this.#fail(exchange, error);
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const take of waiting) take();
  }

  async #setLevel({ level }: JsonObject): Promise<JsonObject> {
    this.#demand('logging', this.#serverCapabilities['logging']);
    if (!isLogLevel(level))
      throw new RpcError(ErrorCode.InvalidParams, `Invalid params: unknown log level ${shortJson(level)}`);
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

  /** A client of a revived session may have missed changes. */
  #sayListsChanged(): void {
    for (const [list, method] of LIST_CHANGES) {
      if (this.#serverCapabilities[list]?.['listChanged']) void this.notify(method, undefined, undefined);
    }
  }

  notify(method: string, params: JsonObject | undefined, related: RequestId | undefined): Promise<void> {
    if (this.#closed) return paced(SENT_AT_ONCE);
    if (method === NotificationMethod.Message && !reaches(params?.['level'], this.caller.logLevel))
      return paced(SENT_AT_ONCE);
    const profile = this.#profile;
    if (!knowsNotice(method, profile)) return paced(SENT_AT_ONCE);
    const message = notification(method, toLegacyNotice(method, params, profile));
    const sent = this.#transport.send(message, { relatedRequestId: related });
    // Code that awaits it gets the error. If nothing awaits it, the rejection must not end the process.
    if (sent !== SENT_AT_ONCE) sent.catch(this.#onerror);
    return paced(sent);
  }

  ask(...question: Parameters<ClientQuestions['ask']>): Promise<JsonObject> {
    return this.#questions.ask(...question);
  }

  /** Called when the connection has closed, before its requests are ended. */
  close(): void {
    const reason = connectionClosed();
    this.#closed = reason;
    this.#waiting.clear();
    this.#questions.close(reason);
    this.caller.session.endedEverywhere = this.#transport.endedEverywhere;
    // Before its subscriptions, so that none moves its notifications to the next one.
    this.caller.session.abort(reason);
    this.#subscriptions.close(reason);
  }
}

function refuse(request: RequestInFlight, why: string, code: number = ErrorCode.InvalidRequest): void {
  const what = code === ErrorCode.InvalidParams ? 'params' : 'request';
  request.answer(errorResponse(request.id, { code, message: `Invalid ${what}: ${why}` }));
}
