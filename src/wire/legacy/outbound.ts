import { CONNECTION_CLOSED, PendingRequests } from '../../jsonrpc/pending.ts';
import type { TimeLimits } from '../../util/deadline.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { IdTable } from '../../jsonrpc/id-table.ts';
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
} from '../../jsonrpc/message.ts';
import { abortReason, isAborted, offAbort, onAbort } from '../../core/base-exchange.ts';
import { NotAsked, type Exchange, type Service } from '../../core/exchange.ts';
import { isNotificationMethod, KNOWN_NOTICES, MAY_ASK, Meta, Method, Notice } from '../../protocol/methods.ts';
import { LATEST_LEGACY_REVISION, profileOf, type Revision, type RevisionProfile } from '../../protocol/revisions.ts';
import type { DiscoverResult, Implementation } from '../../protocol/types.ts';
import { TAKEN, type MessageExtra, type Transport } from '../../transport/transport.ts';
import type { Upstream } from '../upstream.ts';
import { NoticeQueue } from '../notice-queue.ts';
import { Recent } from '../recent.ts';
import type { Attribution } from './attribution.ts';
import { withoutSender } from './meta.ts';
import { Newest } from '../newest.ts';
import type { OwnRequest } from './own-request.ts';
import { TaskSessions } from './task-sessions.ts';
import { TaskTokens } from './task-tokens.ts';
import { UpstreamListeners } from './upstream-listeners.ts';
import { afterVisits, visitsFirst, visitsOf } from './url-required.ts';

export interface OutboundOptions {
  readonly clientInfo: Implementation;
  /** What the questions of the server may be about. Default none. */
  readonly capabilities?: JsonObject | undefined;
  /** The revision to ask for. Default 2025-11-25, the newest with a handshake. */
  readonly revision?: Revision | undefined;
  /** How long a request waits for its response, from each sign of progress. Milliseconds, default 10 minutes; 0 for ever. */
  readonly timeout?: number | undefined;
  /** The same whatever the progress. Milliseconds, default 1 hour; 0 for ever. */
  readonly maxTimeout?: number | undefined;
  /**
   * How long the handshake may take, and what the connection asks for itself: resource subscriptions and the log level.
   * Milliseconds, default 60 000; 0 for ever.
   */
  readonly handshakeTimeout?: number | undefined;
  /** How long `initialize` may take, where some of that time is over. Milliseconds; 0 for ever. Default `handshakeTimeout`. */
  readonly openTimeout?: number | undefined;
  /** The last request id that was used on the connection before it was given here. Default 0: none was. */
  readonly lastId?: number | undefined;
  /** Knows whose something is that the server does not say it of. Default: that of the newest `tools/call`, else call. */
  readonly attribution?: Attribution | undefined;
  /**
   * Whether a log message may come on another stream than the answer to its call, and so after it (Streamable HTTP). A call
   * of a caller without a session that wants some waits a moment for them then, as nobody could be told afterwards.
   */
  readonly streams?: boolean | undefined;
  /** Why the transport closed, where it knows. */
  readonly closeReason?: () => Error | undefined;
  /** Hears of what no caller can be told. Default: nobody. */
  readonly onerror?: ((error: Error) => void) | undefined;
}

/**
 * Connects to a server of a handshake revision and makes a `Service` of it.
 *
 * `notifications/initialized` goes out with the first exchange, so that what the server says or asks from then on
 * finds someone to hear it.
 *
 * A request *from* the server belongs to the call on whose stream it comes (Streamable HTTP). Otherwise nothing says which
 * call it belongs to. All calls of a connection are those of one client, unless an `attribution` tells several apart, so the
 * question goes out with the newest `tools/call`, or else the newest call, and does not end with it. Where no call is in
 * flight, the newest `subscriptions/listen` carries it, or else the next call.
 *
 * @throws RpcError where the handshake fails or takes too long; the transport is closed then.
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

const HANDSHAKE_TIMEOUT = 60_000;
/** Questions of the server that may be open at a time. */
const MAX_QUESTIONS = 1000;
/** Milliseconds that a question outside of calls waits for a call that can carry it. */
const EARLY_QUESTION = 30_000;
/** Milliseconds that an answer waits for log messages of its call that come on another stream. */
const LATE = 10;
/** A call in flight, and the token under which the server reports its progress. */
interface Call {
  readonly exchange: Exchange;
  /** The token that the caller gave. */
  readonly token: RequestId | undefined;
  /** Made when the server first says something that belongs to the call. */
  notices: NoticeQueue | undefined;
}

class LegacyOutbound implements Upstream {
  onclose: (() => void) | undefined;
  revision: Revision = LATEST_LEGACY_REVISION;
  discovered: DiscoverResult = { supportedVersions: [], capabilities: {} };
  readonly #transport: Transport;
  readonly #options: OutboundOptions;
  readonly #limits: TimeLimits;
  /** Of what the connection asks for itself. */
  readonly #ownLimits: TimeLimits;
  readonly #onerror: (error: Error) => void;
  readonly #pending: PendingRequests;
  /** In the order in which they began. */
  readonly #calls = new IdTable<RequestId, Call>();
  readonly #newest = { askable: new Newest<Call>(), tools: new Newest<Call>(), wanting: new Newest<Call>() };
  /** Calls of callers with a session. */
  readonly #ofSessions = new Set<Call>();
  readonly #byExchange = new Map<Exchange, Call>();
  /** Requests in flight by the progress token that the server was given for them. */
  readonly #tokens = new Map<RequestId, RequestId>();
  #lastToken = 0;
  readonly #tasks = new TaskTokens();
  readonly #taskSessions = new TaskSessions();
  /** What was given up last. */
  readonly #givenUp = { requests: new Recent(), tokens: new Recent(), calls: new Recent<Exchange>() };
  /** Questions of the server that are being answered. */
  readonly #questions = new Map<RequestId, AbortController>();
  /** Questions that wait for a call that can carry them. */
  readonly #early = new Set<(exchange: Exchange) => void>();
  readonly #listeners: UpstreamListeners;
  #initialized = false;
  #closing = false;
  #closed: Error | undefined;

  constructor(transport: Transport, options: OutboundOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#pending = new PendingRequests(options.lastId);
    this.#limits = { timeout: options.timeout ?? 600_000, maxTimeout: options.maxTimeout ?? 3_600_000 };
    this.#onerror = options.onerror ?? (() => {});
    const limit = options.handshakeTimeout ?? HANDSHAKE_TIMEOUT;
    this.#ownLimits = { timeout: limit, maxTimeout: limit };
    this.#listeners = new UpstreamListeners((method, params) => this.#own(method, params), this.#onerror);
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  get closeReason(): Error | undefined {
    return this.#options.closeReason?.();
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
      this.#notify(Notice.Initialized, undefined);
    }
    if (exchange.method === Method.Listen) return this.#listeners.listen(exchange, this.discovered.capabilities);
    if (!isNotificationMethod(exchange.method)) return this.#leveled(exchange);
    this.#notify(exchange.method, withoutSender(exchange.params));
    return Promise.resolve({});
  };

  /** A caller without a session says with each call which log messages it wants; to the server it is said once. */
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
      // Tokens MUST be unique across the active requests of a session; callers do not know of one another.
      upstreamToken = ++this.#lastToken;
      params = { ...params, _meta: { ...params['_meta'], [Meta.ProgressToken]: upstreamToken } };
    }
    const { id, result: answered } = this.#request(method, params, this.#limits);
    const result = this.#logsLate(exchange) ? delayed(answered) : answered;
    const call: Call = { exchange, token, notices: undefined };
    this.#begin(id, call);
    if (upstreamToken !== undefined) this.#tokens.set(upstreamToken, id);
    const cancel = (): void => {
      const reason = RpcError.from(abortReason(exchange));
      if (!this.#pending.cancel(id, reason)) return;
      if (this.#options.attribution) this.#givenUp.calls.add(id, exchange);
      this.#giveUp(id, reason.message);
    };
    onAbort(exchange, cancel);
    if (canAsk(exchange)) for (const begin of this.#early) begin(exchange);
    // Registered before anybody else hears of the result: progress MUST stop after completion (basic/utilities/progress).
    const done = (answer?: JsonObject): void => {
      call.notices?.flush();
      offAbort(exchange, cancel);
      this.#end(id, call);
      if (upstreamToken !== undefined) {
        this.#tokens.delete(upstreamToken);
        if (this.#givenUp.requests.has(id)) this.#givenUp.tokens.add(upstreamToken);
      }
      if (!answer) return;
      this.#tasks.answered(exchange, answer, upstreamToken);
      this.#taskSessions.answered(exchange, answer);
    };
    result.then(done, () => done());
    return visiting ? result.catch(visitsOf) : result;
  }

  #begin(id: RequestId, call: Call): void {
    const { exchange } = call;
    const { session, logLevel } = exchange.caller;
    this.#calls.set(id, call);
    this.#byExchange.set(exchange, call);
    if (canAsk(exchange)) this.#newest.askable.add(call);
    if (exchange.method === Method.CallTool) this.#newest.tools.add(call);
    if (session) this.#ofSessions.add(call);
    else if (logLevel !== undefined) this.#newest.wanting.add(call);
  }

  #end(id: RequestId, call: Call): void {
    this.#calls.delete(id);
    if (this.#byExchange.get(call.exchange) === call) this.#byExchange.delete(call.exchange);
    for (const newest of Object.values(this.#newest)) newest.delete(call);
    this.#ofSessions.delete(call);
  }

  #logsLate({ caller: { session, logLevel } }: Exchange): boolean {
    const wanted = session === undefined && logLevel !== undefined;
    return wanted && this.#options.streams === true && this.discovered.capabilities['logging'] !== undefined;
  }

  /** Sends a request; where its time runs out, the server is told (2025-11-25, basic/lifecycle: Timeouts). */
  #request(method: string, params: JsonObject, limits: TimeLimits): { id: RequestId; result: Promise<JsonObject> } {
    return this.#pending.open(method, params, limits, this.#transmit, this.#expired);
  }

  /** What is asked for the connection, and not for one caller. */
  #own(method: string, params: JsonObject): OwnRequest {
    const { id, result } = this.#request(method, params, this.#ownLimits);
    const cancel = (reason: Error): void => {
      if (this.#pending.cancel(id, reason)) this.#giveUp(id, reason.message);
    };
    return { result, cancel };
  }

  readonly #transmit = (message: Request): Promise<void> | undefined => {
    const sent = this.#transport.send(message);
    return sent === TAKEN ? undefined : sent;
  };

  readonly #expired = (id: RequestId, reason: string): void => this.#giveUp(id, reason);

  #giveUp(id: RequestId, reason: string): void {
    this.#givenUp.requests.add(id);
    this.#notify(Notice.Cancelled, { requestId: id, reason });
  }

  #notify(method: string, params: JsonObject | undefined): void {
    if (!this.#closed) this.#transport.send(notification(method, params)).catch(this.#unsaid);
  }

  #receive(message: Message, extra: MessageExtra | undefined): void {
    if (!('method' in message)) {
      // An error without an id says that a message of ours was not understood. Of one request in flight it is the answer.
      const response =
        'error' in message && message.id === undefined ? errorResponse(this.#pending.only, message.error) : message;
      const settled = this.#pending.settle(response, extra?.cause);
      const late = settled ? undefined : this.#givenUp.calls.take(response.id);
      if (late) this.#options.attribution?.over(late);
      if (!settled && !this.#givenUp.requests.has(response.id)) {
        const what = 'error' in message ? `: ${message.error.message}` : '';
        this.#onerror(new Error(`A response came for ${JSON.stringify(message.id)}, which nothing waits for${what}`));
      }
    } else if ('id' in message) {
      this.#question(message, extra?.relatedRequestId);
    } else {
      this.#notice(message, extra?.relatedRequestId);
    }
  }

  /** @param related the request on whose stream the message came. */
  #question({ id, method, params = {} }: Request, related: RequestId | undefined): void {
    if (method === Method.Ping) return this.#reply(resultResponse(id, {}));
    if (this.#questions.has(id)) {
      return this.#reply(
        errorResponse(undefined, {
          code: ErrorCode.InvalidRequest,
          message: `Invalid request: id ${JSON.stringify(id)} is still in use`,
        }),
      );
    }
    if (this.#questions.size >= MAX_QUESTIONS) {
      const message = `${method} was not asked: ${MAX_QUESTIONS} questions of the server are open; wait until some are answered`;
      return this.#reply(errorResponse(id, { code: ErrorCode.InternalError, message }));
    }
    const controller = new AbortController();
    this.#questions.set(id, controller);
    this.#ask(method, params, related, controller.signal).then(
      (result) => this.#answer(id, resultResponse(id, result)),
      (error: unknown) => this.#answer(id, errorResponse(id, RpcError.from(error).toObject())),
    );
  }

  async #ask(
    method: string,
    params: JsonObject,
    related: RequestId | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    // Where a bridge guessed on whose stream it sends the question, another call may have asked it.
    const own = this.#callOf(related)?.exchange;
    if (own) return own.ask(method, params, { signal, outlivesRequest: this.#calls.size > 1 });
    for (;;) {
      const exchange = await this.#likelyAsker(method, signal);
      signal.throwIfAborted();
      // Any of several calls may have asked, so the question does not end with the call that carries it.
      const guessed = this.#calls.size > 1;
      try {
        return await exchange.ask(method, params, { signal, outlivesRequest: guessed });
      } catch (error) {
        if (!guessed || !(error instanceof NotAsked) || this.#calls.size === 0) throw error;
      }
    }
  }

  /** The call, or else the subscription, through which a question goes to its client. */
  #likelyAsker(method: string, signal: AbortSignal): Exchange | Promise<Exchange> {
    const { attribution } = this.#options;
    if (attribution) return attribution.question(signal);
    const listener = this.#listeners.newest;
    return this.#newestCall() ?? (listener && canAsk(listener) ? listener : this.#nextCall(method, signal));
  }

  /** Some servers ask as soon as the session is open. A caller without a session gets the question with its first call. */
  #nextCall(method: string, signal: AbortSignal): Promise<Exchange> {
    return new Promise<Exchange>((resolve, reject) => {
      const giveUp = (reason: unknown): void => {
        this.#early.delete(begin);
        clearTimeout(timer);
        signal.removeEventListener('abort', taken);
        reject(reason);
      };
      const taken = (): void => giveUp(signal.reason);
      const nobody = new RpcError(ErrorCode.InternalError, `Nobody is there to answer ${method}`);
      const timer = setTimeout(() => giveUp(nobody), EARLY_QUESTION);
      const begin = (exchange: Exchange): void => {
        resolve(exchange);
        giveUp(undefined);
      };
      signal.addEventListener('abort', taken);
      this.#early.add(begin);
    });
  }

  /** Answers a question, unless the server took it back meanwhile. */
  #answer(id: RequestId, response: Message): void {
    if (this.#questions.delete(id)) this.#reply(response);
  }

  #reply(response: Message): void {
    if (!this.#closed) this.#transport.send(response).catch(this.#unsaid);
  }

  /** Whoever closes the connection needs not hear that the server was not told the rest. */
  readonly #unsaid = (error: Error): void => {
    if (!this.#closing) this.#onerror(error);
  };

  #callOf(related: RequestId | undefined): Call | undefined {
    return related === undefined ? undefined : this.#calls.get(related);
  }

  #newestCall(): Exchange | undefined {
    const { askable, tools } = this.#newest;
    return (tools.last ?? askable.last)?.exchange;
  }

  #onlyCall(): Call | undefined {
    return this.#calls.size === 1 ? this.#calls.values()[0] : undefined;
  }

  /** Of a caller who could hear nothing elsewhere. */
  #onlySessionless(): Call | undefined {
    const call = this.#onlyCall();
    return call?.exchange.caller.session ? undefined : call;
  }

  /** Whose a log message is, where somebody knows. */
  #attributed(): Call | undefined {
    const exchange = this.#options.attribution?.message();
    return exchange && this.#byExchange.get(exchange);
  }

  /** A caller without a session hears log messages with its calls, or not at all; all others hear them with the session. */
  #newestThatWants(): Call | undefined {
    return this.#ofSessions.size > 0 ? undefined : this.#newest.wanting.last;
  }

  #notice({ method, params = {} }: Notification, related: RequestId | undefined): void {
    switch (method) {
      case Notice.Progress:
        return this.#progress(params);
      case Notice.Cancelled: {
        const { requestId, reason } = params;
        if (!isRequestId(requestId)) return;
        const controller = this.#questions.get(requestId);
        this.#questions.delete(requestId);
        return controller?.abort(
          new RpcError(ErrorCode.InternalError, typeof reason === 'string' ? reason : 'Cancelled by the server'),
        );
      }
      case Notice.TaskStatus: {
        this.#tasks.said(params);
        const session = this.#taskSessions.of(params['taskId'], this.#listeners.onlySession);
        if (session) this.#listeners.deliver(method, params, session);
        return;
      }
      case Notice.Message: {
        const likely = this.#options.attribution ? this.#attributed() : (this.#onlyCall() ?? this.#newestThatWants());
        const whose = this.#callOf(related) ?? likely;
        if (whose) return this.#tell(whose, method, params);
        break;
      }
      default: {
        // What changes is told to whoever listens; of what nobody here knows the stream says whose it is.
        const whose = KNOWN_NOTICES.has(method) ? undefined : (this.#callOf(related) ?? this.#onlySessionless());
        if (whose) return this.#tell(whose, method, params);
      }
    }
    this.#listeners.deliver(method, params);
  }

  #progress(params: JsonObject): void {
    const token: unknown = params['progressToken'];
    const id = this.#tokens.get(token as RequestId);
    const call = id === undefined ? undefined : this.#calls.get(id);
    if (id === undefined || !call) {
      const task = this.#tasks.of(token);
      if (task) return this.#listeners.deliver(Notice.Progress, { ...params, progressToken: task.token }, task.session);
      if (this.#givenUp.tokens.has(token)) return;
      return this.#onerror(new Error(`Progress came for ${JSON.stringify(token)}, which is no active request`));
    }
    this.#pending.extend(id);
    this.#tell(call, Notice.Progress, { ...params, progressToken: call.token });
  }

  #tell(call: Call, method: string, params: JsonObject): void {
    call.notices ??= new NoticeQueue(call.exchange, this.#onerror);
    call.notices.push(method, params);
  }

  #close(): void {
    if (this.#closed) return;
    const cause = this.#options.closeReason?.();
    this.#closed = new RpcError(
      CONNECTION_CLOSED,
      cause ? `Connection closed: ${cause.message}` : 'Connection closed',
      { cause },
    );
    this.#pending.close(this.#closed);
    this.#listeners.close(this.#closed);
    for (const controller of this.#questions.values()) controller.abort(this.#closed);
    this.#questions.clear();
    this.onclose?.();
  }
}

/** Whether a request can carry a question: without a session only some methods can (2026-07-28, patterns/mrtr). */
function canAsk({ caller, method }: Exchange): boolean {
  return caller.session !== undefined || MAY_ASK.has(method);
}

/** Past what has been sent by now: a timer alone could be over before anything is read. */
async function delayed(answer: Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await answer;
  } finally {
    await new Promise<void>((resolve) => void setTimeout(() => setImmediate(resolve), LATE));
  }
}

/**
 * The capabilities of a server. Before 2025-03-26 there was no word for completion (changelog, other schema changes): a
 * server that has prompts or resources may complete their arguments.
 */
function declared(capabilities: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  const unsaid = properties.ServerCapabilities?.includes('completions') === true;
  const may = capabilities['prompts'] !== undefined || capabilities['resources'] !== undefined;
  return unsaid && may ? { completions: {}, ...capabilities } : capabilities;
}
