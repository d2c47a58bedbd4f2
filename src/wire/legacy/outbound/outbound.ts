import { inNextTurn } from '../../../base/next-turn.ts';
import { printableError, printableMessage } from '../../../base/printable.ts';
import { connectionClosed, PendingRequests, unexpectedResponse } from '../../../jsonrpc/pending.ts';
import type { TimeLimits } from '../../../base/deadline.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isObject,
  isRequestId,
  notification,
  type JsonObject,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import { isWritable } from '../../../jsonrpc/stringify.ts';
import { abortReason, isAborted, offAbort, onAbort } from '../../../core/base-exchange.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import { isNotificationMethod, KNOWN_NOTICES, Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { LATEST_LEGACY_REVISION, profileOf, type Revision, type RevisionProfile } from '../../../protocol/revisions.ts';
import type { DiscoverResult } from '../../../protocol/types.ts';
import { SENT_AT_ONCE, type MessageExtra, type Transport } from '../../../transport/transport.ts';
import { HANDSHAKE_TIMEOUT, limitsOf, type OpeningOptions, type Upstream } from '../../upstream.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import { checkServerDescription } from '../../server-description.ts';
import { Recent } from '../../../base/recent.ts';
import { shortJson } from '../../../base/short-text.ts';
import type { Attribution } from './attribution.ts';
import { CallsInFlight, type CallInFlight } from './calls-in-flight.ts';
import { withoutSender } from '../../meta.ts';
import { OneClient } from './one-client.ts';
import type { OwnRequest } from './own-request.ts';
import { ServerQuestions } from './server-questions.ts';
import { TaskOwners } from './task-owners.ts';
import { UpstreamListeners } from './upstream-listeners.ts';
import { withoutUrlAnswers, needsUrlElicitation, urlQuestionsOf } from '../translate/url-required.ts';

export interface OutboundOptions extends OpeningOptions {
  /** Assigns messages that name no call. Default: all calls belong to one client. */
  readonly attribution?: Attribution | undefined;
  /**
   * Whether a log message may come on another stream than the response to its call, and so after the response
   * (Streamable HTTP). The response then waits a moment for log messages, if the caller wants them and has no session.
   * Without a session, they cannot be delivered later.
   */
  readonly streams?: boolean | undefined;
}

/**
 * Connects to a server of a handshake revision and returns it as a `Service`. `notifications/initialized` is sent with
 * the first exchange, so that there is a caller for everything that the server sends after it.
 *
 * Over Streamable HTTP, a request *from* the server belongs to the call on whose stream it comes. Otherwise nothing
 * names the call. By default all calls of a connection belong to one client; an `attribution` distinguishes several
 * clients. The question is asked through the newest `tools/call`, or else through the newest call, and does not end
 * with that call. If no call is in flight, the newest `subscriptions/listen` carries it, or else the next call.
 *
 * @throws RpcError if the handshake fails or takes too long. The transport is closed then.
 */
export async function connectLegacy(transport: Transport, options: OutboundOptions): Promise<Upstream> {
  const connection = new LegacyOutbound(transport, options);
  try {
    await connection.open();
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Whether the caller has seen no `initialize` result of the server. */
function isStateless({ caller: { revision } }: Exchange): boolean {
  return profileOf(revision)?.era === 'modern';
}

/** How long a response waits for log messages of its call on another stream. Milliseconds. */
const LATE_LOG_WAIT = 10;
class LegacyOutbound implements Upstream {
  onclose: (() => void) | undefined;
  revision: Revision = LATEST_LEGACY_REVISION;
  discovered: DiscoverResult = { supportedVersions: [], capabilities: {} };
  readonly #transport: Transport;
  readonly #options: OutboundOptions;
  readonly #limits: TimeLimits;
  /** Time limits of requests that the connection makes for itself. */
  readonly #ownLimits: TimeLimits;
  readonly #onerror: (error: Error) => void;
  readonly #pending: PendingRequests;
  readonly #calls = new CallsInFlight();
  /** Assigns messages that name no call. */
  readonly #attribution: Attribution;
  readonly #questions: ServerQuestions;
  #lastToken: number;
  readonly #tasks = new TaskOwners();
  /**
   * The requests, progress tokens and calls that were cancelled or timed out recently. Most servers never answer a
   * cancelled call, and its parameters may be large, so nothing here keeps the call itself in memory.
   */
  readonly #cancelled = { requests: new Recent(), tokens: new Recent(), calls: new Recent<() => void>() };
  readonly #listeners: UpstreamListeners;
  #initialized = false;
  #closing = false;
  #closed: Error | undefined;

  constructor(transport: Transport, options: OutboundOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#pending = new PendingRequests(options.lastId);
    this.#lastToken = options.lastId ?? 0;
    this.#limits = limitsOf(options);
    this.#onerror = options.onerror ?? (() => {});
    const limit = options.handshakeTimeout ?? HANDSHAKE_TIMEOUT;
    this.#ownLimits = { timeout: limit, maxTimeout: limit };
    this.#listeners = new UpstreamListeners((method, params) => this.#requestOwn(method, params), this.#onerror);
    this.#attribution = options.attribution ?? new OneClient(this.#calls, () => this.#listeners.newest);
    this.#questions = new ServerQuestions(this.#calls, this.#attribution, (response) => this.#reply(response));
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  get closeReason(): Error | undefined {
    return this.#transport.closeReason;
  }

  /** Opens the session (2025-11-25, basic/lifecycle: Initialization). */
  async open(): Promise<void> {
    const transport = this.#transport;
    transport.onmessage = (message: Message, extra?: MessageExtra) => this.#receive(message, extra);
    transport.onerror = this.#onerror;
    transport.onclose = () => this.#close();
    await transport.start();
    const { clientInfo, capabilities = {}, revision = LATEST_LEGACY_REVISION, openTimeout } = this.#options;
    // No cancellation is sent if this times out: `initialize` MUST NOT be cancelled (basic/utilities/cancellation).
    const { result } = this.#pending.open(
      Method.Initialize,
      { protocolVersion: revision, capabilities, clientInfo },
      openTimeout === undefined ? this.#ownLimits : { timeout: openTimeout, maxTimeout: openTimeout },
      (message) => transport.send(message),
    );
    const answer = await result;
    const profile = profileOf(answer['protocolVersion']);
    if (profile?.era !== 'legacy') {
      throw new RpcError(
        ErrorCode.InternalError,
        `The server speaks revision ${printableMessage(shortJson(answer['protocolVersion'] ?? null))}, which this client does not speak`,
      );
    }
    checkServerDescription(answer);
    this.revision = profile.revision;
    transport.setProtocolVersion?.(profile.revision);
    this.discovered = {
      supportedVersions: [profile.revision],
      capabilities: declared(isObject(answer['capabilities']) ? answer['capabilities'] : {}, profile),
      ...(answer['instructions'] === undefined ? {} : { instructions: answer['instructions'] }),
      _meta: { [Meta.ServerInfo]: answer['serverInfo'] },
    };
  }

  close(): Promise<void> {
    this.#closing = true;
    this.#listeners.retire();
    return this.#transport.close();
  }

  readonly service: Service = (exchange) => {
    if (exchange.method === Method.Discover) return Promise.resolve(this.discovered as unknown as JsonObject);
    if (this.#closed) return Promise.reject(this.#closed);
    if (!this.#initialized) {
      this.#initialized = true;
      this.#notify(NotificationMethod.Initialized, undefined);
    }
    if (exchange.method === Method.Listen) return this.#listeners.listen(exchange, this.discovered.capabilities);
    if (!isNotificationMethod(exchange.method)) return this.#callAtLevel(exchange);
    this.#notify(exchange.method, withoutSender(exchange.params));
    return Promise.resolve({});
  };

  /** A caller without a session names its log level with each call. The server is told only when the level changes. */
  #callAtLevel(exchange: Exchange): Promise<JsonObject> {
    const { session, logLevel } = exchange.caller;
    const levelChange =
      session || logLevel === undefined || !this.discovered.capabilities['logging']
        ? undefined
        : this.#listeners.lower(logLevel, exchange.signal);
    return levelChange ? levelChange.then(() => this.#call(exchange)) : this.#call(exchange);
  }

  #call(exchange: Exchange): Promise<JsonObject> {
    if (isAborted(exchange)) return Promise.reject(abortReason(exchange));
    const { method } = exchange;
    const token: RequestId | undefined = exchange.params['_meta']?.[Meta.ProgressToken];
    const needsUrlVisit = needsUrlElicitation(exchange);
    let params = withoutSender(exchange.params);
    try {
      if (needsUrlVisit) params = withoutUrlAnswers(method, params);
    } catch (error) {
      return Promise.reject(error);
    }
    let upstreamToken: number | undefined;
    if (token !== undefined) {
      // Tokens MUST be unique across the active requests of a session. Different callers may choose the same token.
      upstreamToken = ++this.#lastToken;
      params = { ...params, _meta: { ...params['_meta'], [Meta.ProgressToken]: upstreamToken } };
    }
    const { id, result: answered } = this.#request(method, params, this.#limits);
    const result = this.#mayLogLate(exchange) ? delayed(answered) : answered;
    const call: CallInFlight = { exchange, token, upstreamToken, notices: undefined, questions: 0 };
    this.#calls.add(id, call);
    const cancel = (): void => {
      const reason = RpcError.from(abortReason(exchange));
      if (this.#pending.cancel(id, reason)) this.#sendCancellation(id, reason.message);
    };
    onAbort(exchange, cancel);
    this.#attribution.began?.(exchange);
    // Register the task before the caller gets the result: progress MUST stop after completion
    // (basic/utilities/progress).
    const done = (answer?: JsonObject): void => {
      call.notices?.flush();
      offAbort(exchange, cancel);
      this.#calls.delete(id, call);
      if (upstreamToken !== undefined && this.#cancelled.requests.has(id)) this.#cancelled.tokens.add(upstreamToken);
      if (answer) this.#tasks.answered(exchange, answer, upstreamToken);
    };
    result.then(done, () => done());
    const known = needsUrlVisit ? result.catch((error: unknown) => urlQuestionsOf(error, exchange.method)) : result;
    return isStateless(exchange) ? known.then((answer) => this.#identified(answer)) : known;
  }

  /** A result that names the server, for a caller without a handshake (2026-07-28, basic: Per-response protocol fields). */
  #identified(result: JsonObject): JsonObject {
    const { _meta: meta }: JsonObject = result;
    const own = this.discovered['_meta'];
    return { ...result, _meta: isObject(meta) ? { ...own, ...meta } : own };
  }

  #mayLogLate({ caller: { session, logLevel } }: Exchange): boolean {
    const wanted = session === undefined && logLevel !== undefined;
    return wanted && this.#options.streams === true && this.discovered.capabilities['logging'] !== undefined;
  }

  /** Sends a request. After a timeout, the server is notified (2025-11-25, basic/lifecycle: Timeouts). */
  #request(method: string, params: JsonObject, limits: TimeLimits): { id: RequestId; result: Promise<JsonObject> } {
    return this.#pending.open(method, params, limits, this.#transmit, this.#expired);
  }

  /** Sends a request for the connection itself, not for one caller. */
  #requestOwn(method: string, params: JsonObject): OwnRequest {
    const { id, result } = this.#request(method, params, this.#ownLimits);
    const cancel = (reason: Error): void => {
      if (this.#pending.cancel(id, reason)) this.#sendCancellation(id, reason.message);
    };
    return { result, cancel };
  }

  readonly #transmit = (message: Request): Promise<void> | undefined => {
    const sent = this.#transport.send(message);
    return sent === SENT_AT_ONCE ? undefined : sent;
  };

  readonly #expired = (id: RequestId, reason: string): void => this.#sendCancellation(id, reason);

  #sendCancellation(id: RequestId, reason: string): void {
    this.#cancelled.requests.add(id);
    this.#abandon(id);
    // A server ends all calls of a connection that closes. There may be thousands.
    if (!this.#closing) this.#notify(NotificationMethod.Cancelled, { requestId: id, reason });
  }

  /** Nobody waits for this call any more, but the server may still run it, and ask. */
  #abandon(id: RequestId): void {
    const call = this.#calls.get(id);
    const over = call && this.#attribution.cancelled?.(call.exchange);
    if (over) this.#cancelled.calls.add(id, over);
  }

  #notify(method: string, params: JsonObject | undefined): void {
    if (!this.#closed) this.#transport.send(notification(method, params)).catch(this.#reportUnsent);
  }

  #receive(message: Message, extra: MessageExtra | undefined): void {
    if (!('method' in message)) {
      // An error without an id means that the server did not understand a message. If one request is in flight, the
      // error answers it.
      const { only } = this.#pending;
      const unnamed = 'error' in message && message.id === undefined;
      const response = unnamed ? errorResponse(only, message.error) : withoutType(message);
      if (unnamed && only !== undefined) this.#abandon(only);
      const settled = this.#pending.settle(response, extra?.cause);
      if (!settled) this.#cancelled.calls.take(response.id)?.();
      if (!settled && !this.#cancelled.requests.has(response.id)) this.#onerror(unexpectedResponse(response));
    } else if ('id' in message) {
      this.#questions.receive(message, extra?.relatedRequestId);
    } else {
      this.#notice(message, extra?.relatedRequestId);
    }
  }

  #reply(response: Message): void {
    if (this.#closed) return;
    this.#transport.send(response).catch((error: Error) => {
      this.#reportUnsent(error);
      if (!('result' in response) || isWritable(response)) return;
      const message = 'The answer cannot be written as JSON';
      this.#reply(errorResponse(response.id, { code: ErrorCode.InternalError, message }));
    });
  }

  /** After the connection was closed on purpose, failed sends are not reported. */
  readonly #reportUnsent = (error: Error): void => {
    if (!this.#closing) this.#onerror(error);
  };

  /** The call that a log message belongs to, if that is known. */
  #attributed(): CallInFlight | undefined {
    const exchange = this.#attribution.message();
    return exchange && this.#calls.of(exchange);
  }

  /** The only call in flight, if its caller has no session and so no other way to get the message. */
  #onlyCallWithoutSession(): CallInFlight | undefined {
    const call = this.#calls.only;
    return call?.exchange.caller.session ? undefined : call;
  }

  #notice({ method, params = {} }: Notification, related: RequestId | undefined): void {
    switch (method) {
      case NotificationMethod.Progress:
        return this.#progress(params);
      case NotificationMethod.Cancelled: {
        const { requestId, reason } = params;
        if (!isRequestId(requestId)) return;
        const why = typeof reason === 'string' ? reason : 'Cancelled by the server';
        return this.#questions.cancel(requestId, new RpcError(ErrorCode.InternalError, why));
      }
      case NotificationMethod.TaskStatus: {
        this.#tasks.status(params);
        const session = this.#tasks.sessionOf(params['taskId']);
        if (session) this.#listeners.deliver(method, params, session);
        return;
      }
      case NotificationMethod.Message: {
        const call = this.#calls.get(related) ?? this.#attributed();
        if (call) return this.#queueNotification(call, method, params);
        break;
      }
      default: {
        // Change notifications go to every listener. For an unknown notification, the stream tells which call it
        // belongs to.
        const call = KNOWN_NOTICES.has(method)
          ? undefined
          : (this.#calls.get(related) ?? this.#onlyCallWithoutSession());
        if (call) return this.#queueNotification(call, method, params);
      }
    }
    this.#listeners.deliver(method, params);
  }

  #progress(params: JsonObject): void {
    const token: unknown = params['progressToken'];
    const id = this.#calls.idOf(token);
    const call = this.#calls.get(id);
    if (id === undefined || !call) {
      const task = this.#tasks.ofToken(token);
      if (task)
        return this.#listeners.deliver(
          NotificationMethod.Progress,
          { ...params, progressToken: task.token },
          task.session,
        );
      if (this.#cancelled.tokens.has(token)) return;
      return this.#onerror(printableError(`Progress was ignored: ${shortJson(token)} belongs to no active request`));
    }
    this.#pending.extend(id);
    this.#queueNotification(call, NotificationMethod.Progress, { ...params, progressToken: call.token });
  }

  #queueNotification(call: CallInFlight, method: string, params: JsonObject): void {
    call.notices ??= new NoticeQueue(call.exchange, this.#onerror);
    call.notices.push(method, params);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = connectionClosed(this.closeReason);
    this.#pending.close(this.#closed);
    this.#listeners.close(this.#closed);
    this.#questions.close(this.#closed);
    this.onclose?.();
  }
}

/** Results of handshake revisions have no type. One would change their meaning for a caller of 2026-07-28. */
function withoutType(message: Response): Response {
  if (!('result' in message) || !isObject(message.result) || !('resultType' in message.result)) return message;
  const { resultType: _, ...result } = message.result;
  return { ...message, result };
}

/**
 * Delays a response until messages that were already sent have been read. A timer alone could fire before anything is
 * read.
 */
async function delayed(answer: Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await answer;
  } finally {
    await new Promise<void>((resolve) => void setTimeout(() => inNextTurn(resolve), LATE_LOG_WAIT));
  }
}

/**
 * The capabilities of a server. Before 2025-03-26 there was no capability for completion (changelog, other schema
 * changes). A server with prompts or resources of such a revision may complete their arguments.
 */
function declared(capabilities: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  const undeclared = properties.ServerCapabilities?.includes('completions') === true;
  const mayComplete = capabilities['prompts'] !== undefined || capabilities['resources'] !== undefined;
  return undeclared && mayComplete ? { completions: {}, ...capabilities } : capabilities;
}
