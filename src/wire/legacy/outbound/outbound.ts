import { connectionClosed, PendingRequests, unexpectedResponse } from '../../../jsonrpc/pending.ts';
import type { TimeLimits } from '../../../base/deadline.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isRequestId,
  notification,
  type JsonObject,
  type Message,
  type Notification,
  type Request,
  type RequestId,
} from '../../../jsonrpc/message.ts';
import { abortReason, isAborted, offAbort, onAbort } from '../../../core/base-exchange.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import { isNotificationMethod, KNOWN_NOTICES, Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { LATEST_LEGACY_REVISION, profileOf, type Revision, type RevisionProfile } from '../../../protocol/revisions.ts';
import type { DiscoverResult } from '../../../protocol/types.ts';
import { SENT_AT_ONCE, type MessageExtra, type Transport } from '../../../transport/transport.ts';
import { HANDSHAKE_TIMEOUT, limitsOf, type OpeningOptions, type Upstream } from '../../upstream.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import { Recent } from '../../../base/recent.ts';
import type { Attribution } from './attribution.ts';
import { CallsInFlight, type CallInFlight } from './calls-in-flight.ts';
import { withoutSender } from '../../meta.ts';
import { OneClient } from './one-client.ts';
import type { OwnRequest } from './own-request.ts';
import { ServerQuestions } from './server-questions.ts';
import { TaskOwners } from './task-owners.ts';
import { UpstreamListeners } from './upstream-listeners.ts';
import { afterVisits, visitsFirst, visitsOf } from '../translate/url-required.ts';

export interface OutboundOptions extends OpeningOptions {
  /** Assigns messages that name no call. Default: all calls belong to one client. */
  readonly attribution?: Attribution | undefined;
  /**
   * Whether a log message may come on another stream than the response to its call, and so after it (Streamable HTTP).
   * The response to a caller without a session that wants log messages then waits a moment for them, because they
   * cannot be delivered later.
   */
  readonly streams?: boolean | undefined;
}

/**
 * Connects to a server of a handshake revision and returns it as a `Service`.
 *
 * `notifications/initialized` goes out with the first exchange, so that a caller exists for everything the server sends
 * after it.
 *
 * Over Streamable HTTP, a request *from* the server belongs to the call on whose stream it comes. Otherwise nothing
 * names the call. All calls of a connection belong to one client, unless an `attribution` tells several apart. The
 * question is asked through the newest `tools/call`, or else through the newest call, and does not end with that call.
 * If no call is in flight, the newest `subscriptions/listen` carries it, or else the next call.
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

/** How long a response waits for log messages of its call on another stream. Milliseconds. */
const LATE = 10;
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
  #lastToken = 0;
  readonly #tasks = new TaskOwners();
  /** What was cancelled or timed out recently. */
  readonly #givenUp = { requests: new Recent(), tokens: new Recent(), calls: new Recent<Exchange>() };
  readonly #listeners: UpstreamListeners;
  #initialized = false;
  #closing = false;
  #closed: Error | undefined;

  constructor(transport: Transport, options: OutboundOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#pending = new PendingRequests(options.lastId);
    this.#limits = limitsOf(options);
    this.#onerror = options.onerror ?? (() => {});
    const limit = options.handshakeTimeout ?? HANDSHAKE_TIMEOUT;
    this.#ownLimits = { timeout: limit, maxTimeout: limit };
    this.#listeners = new UpstreamListeners((method, params) => this.#own(method, params), this.#onerror);
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
    // No cancellation is sent for it: `initialize` MUST NOT be cancelled (basic/utilities/cancellation).
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
        `The server speaks revision ${JSON.stringify(answer['protocolVersion'])}, which this client does not`,
      );
    }
    this.revision = profile.revision;
    transport.setProtocolVersion?.(profile.revision);
    this.discovered = {
      supportedVersions: [profile.revision],
      capabilities: declared(answer['capabilities'] ?? {}, profile),
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
    if (!isNotificationMethod(exchange.method)) return this.#leveled(exchange);
    this.#notify(exchange.method, withoutSender(exchange.params));
    return Promise.resolve({});
  };

  /** A caller without a session names its log level with each call. The server is told only when the level changes. */
  #leveled(exchange: Exchange): Promise<JsonObject> {
    const { session, logLevel } = exchange.caller;
    const lowered =
      session || logLevel === undefined || !this.discovered.capabilities['logging']
        ? undefined
        : this.#listeners.lower(logLevel, exchange.signal);
    return lowered ? lowered.then(() => this.#call(exchange)) : this.#call(exchange);
  }

  #call(exchange: Exchange): Promise<JsonObject> {
    if (isAborted(exchange)) return Promise.reject(abortReason(exchange));
    const { method } = exchange;
    const token: RequestId | undefined = exchange.params['_meta']?.[Meta.ProgressToken];
    const visiting = visitsFirst(exchange);
    let params = withoutSender(exchange.params);
    try {
      if (visiting) params = afterVisits(method, params);
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
    const result = this.#logsLate(exchange) ? delayed(answered) : answered;
    const call: CallInFlight = { exchange, token, upstreamToken, notices: undefined };
    this.#calls.add(id, call);
    const cancel = (): void => {
      const reason = RpcError.from(abortReason(exchange));
      if (!this.#pending.cancel(id, reason)) return;
      this.#givenUp.calls.add(id, exchange);
      this.#giveUp(id, reason.message);
    };
    onAbort(exchange, cancel);
    this.#attribution.began?.(exchange);
    // Register the task before the caller gets the result: progress MUST stop after completion
    // (basic/utilities/progress).
    const done = (answer?: JsonObject): void => {
      call.notices?.flush();
      offAbort(exchange, cancel);
      this.#calls.delete(id, call);
      if (upstreamToken !== undefined && this.#givenUp.requests.has(id)) this.#givenUp.tokens.add(upstreamToken);
      if (answer) this.#tasks.answered(exchange, answer, upstreamToken);
    };
    result.then(done, () => done());
    return visiting ? result.catch(visitsOf) : result;
  }

  #logsLate({ caller: { session, logLevel } }: Exchange): boolean {
    const wanted = session === undefined && logLevel !== undefined;
    return wanted && this.#options.streams === true && this.discovered.capabilities['logging'] !== undefined;
  }

  /** Sends a request. After a timeout, the server is notified (2025-11-25, basic/lifecycle: Timeouts). */
  #request(method: string, params: JsonObject, limits: TimeLimits): { id: RequestId; result: Promise<JsonObject> } {
    return this.#pending.open(method, params, limits, this.#transmit, this.#expired);
  }

  /** Sends a request for the connection itself, not for one caller. */
  #own(method: string, params: JsonObject): OwnRequest {
    const { id, result } = this.#request(method, params, this.#ownLimits);
    const cancel = (reason: Error): void => {
      if (this.#pending.cancel(id, reason)) this.#giveUp(id, reason.message);
    };
    return { result, cancel };
  }

  readonly #transmit = (message: Request): Promise<void> | undefined => {
    const sent = this.#transport.send(message);
    return sent === SENT_AT_ONCE ? undefined : sent;
  };

  readonly #expired = (id: RequestId, reason: string): void => this.#giveUp(id, reason);

  #giveUp(id: RequestId, reason: string): void {
    this.#givenUp.requests.add(id);
    this.#notify(NotificationMethod.Cancelled, { requestId: id, reason });
  }

  #notify(method: string, params: JsonObject | undefined): void {
    if (!this.#closed) this.#transport.send(notification(method, params)).catch(this.#unsaid);
  }

  #receive(message: Message, extra: MessageExtra | undefined): void {
    if (!('method' in message)) {
      // An error without an id means that the server did not understand a message. If one request is in flight, the
      // error answers it.
      const response =
        'error' in message && message.id === undefined ? errorResponse(this.#pending.only, message.error) : message;
      const settled = this.#pending.settle(response, extra?.cause);
      const late = settled ? undefined : this.#givenUp.calls.take(response.id);
      if (late) this.#attribution.over(late);
      if (!settled && !this.#givenUp.requests.has(response.id)) this.#onerror(unexpectedResponse(response));
    } else if ('id' in message) {
      this.#questions.receive(message, extra?.relatedRequestId);
    } else {
      this.#notice(message, extra?.relatedRequestId);
    }
  }

  #reply(response: Message): void {
    if (!this.#closed) this.#transport.send(response).catch(this.#unsaid);
  }

  /** After the connection was closed on purpose, failed sends are not reported. */
  readonly #unsaid = (error: Error): void => {
    if (!this.#closing) this.#onerror(error);
  };

  /** The call that a log message belongs to, if that is known. */
  #attributed(): CallInFlight | undefined {
    const exchange = this.#attribution.message();
    return exchange && this.#calls.of(exchange);
  }

  /** The only call in flight, if its caller has no session and so cannot hear the message in another way. */
  #onlySessionless(): CallInFlight | undefined {
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
        this.#tasks.said(params);
        // On a connection that several clients share, the only session that listens need not be the owner's.
        const only = this.#options.attribution ? undefined : this.#listeners.onlySession;
        const session = this.#tasks.sessionOf(params['taskId'], only);
        if (session) this.#listeners.deliver(method, params, session);
        return;
      }
      case NotificationMethod.Message: {
        const whose = this.#calls.get(related) ?? this.#attributed();
        if (whose) return this.#tell(whose, method, params);
        break;
      }
      default: {
        // Change notifications go to every listener. For an unknown notification, the stream tells which call it
        // belongs to.
        const whose = KNOWN_NOTICES.has(method) ? undefined : (this.#calls.get(related) ?? this.#onlySessionless());
        if (whose) return this.#tell(whose, method, params);
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
      if (this.#givenUp.tokens.has(token)) return;
      return this.#onerror(new Error(`Progress was ignored: ${JSON.stringify(token)} belongs to no active request`));
    }
    this.#pending.extend(id);
    this.#tell(call, NotificationMethod.Progress, { ...params, progressToken: call.token });
  }

  #tell(call: CallInFlight, method: string, params: JsonObject): void {
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

/**
 * Delays a response until messages that were already sent have been read. A timer alone could fire before anything is
 * read.
 */
async function delayed(answer: Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await answer;
  } finally {
    await new Promise<void>((resolve) => void setTimeout(() => setImmediate(resolve), LATE));
  }
}

/**
 * The capabilities of a server. Before 2025-03-26 there was no capability for completion (changelog, other schema
 * changes). A server with prompts or resources of such a revision may complete their arguments.
 */
function declared(capabilities: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  const unsaid = properties.ServerCapabilities?.includes('completions') === true;
  const may = capabilities['prompts'] !== undefined || capabilities['resources'] !== undefined;
  return unsaid && may ? { completions: {}, ...capabilities } : capabilities;
}
