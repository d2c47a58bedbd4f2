import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isObject,
  resultResponse,
  type JsonObject,
  type Notification,
  type Request,
} from '../../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../../jsonrpc/pending.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import { IdleWaiters } from '../../../base/idle.ts';
import { invoke } from '../../../core/invoke.ts';
import { Refusal } from '../../../core/refusal.ts';
import { needsInput, questionsOf } from '../../../core/rounds.ts';
import {
  isNotificationMethod,
  CAN_REQUIRE_INPUT,
  Meta,
  Method,
  NotificationMethod,
} from '../../../protocol/methods.ts';
import { saysItsRevision } from '../../../protocol/own-revision.ts';
import { readFilter } from '../../../protocol/subscriptions.ts';
import type { Implementation } from '../../../protocol/types.ts';
import type { MessageExtra, ReplyChannel } from '../../../transport/transport.ts';
import type { SafeToRerun } from '../../rerun.ts';
import { checkQuestion, readResponses } from '../../../core/questions.ts';
import { readCaller, unsupportedVersion } from './caller.ts';
import { InputRounds, recollect, type Recollection } from './input-rounds.ts';
import { requestDigest } from './digest.ts';
import { modernError, statusOf } from '../translate/errors.ts';
import { ModernExchange, progressTokenOf, type Round } from './exchange.ts';
import { SuspendedRequests } from './suspended-requests.ts';
import { ResultShaper } from '../translate/results.ts';
import { Subscriptions } from './subscriptions.ts';
import { StateSeal, type RequestState, type StateBinding } from './sealed-state.ts';

export interface ModernInboundOptions {
  /** Hears of what no caller can be told. */
  readonly onerror: (error: Error) => void;
  /** The revisions that are served on this side, in the order in which callers are told of them. */
  readonly supportedVersions: readonly string[];
  /** Who answers, as results say. */
  readonly serverInfo: Implementation | undefined;
  /** Milliseconds that a caller may take to come again with its answers. */
  readonly askTimeout: number;
  readonly maxSuspended: number;
  readonly maxSuspendedPerPrincipal: number;
  /** Open `subscriptions/listen` requests. */
  readonly maxSubscriptions: number;
  readonly maxSubscriptionsPerPrincipal: number;
  readonly stateKey: string | Uint8Array | undefined;
  /** Whether a `requestState` of the service is sealed, so that callers cannot read or change it. */
  readonly sealState: boolean;
  /** Whether a request may be run again from the start by a process that does not remember it. */
  readonly safeToRerun: SafeToRerun;
}

/** What only revisions with a handshake have: no service is asked for it. */
const HANDSHAKE_ONLY: ReadonlySet<string> = new Set([
  Method.Initialize,
  Method.Ping,
  Method.SetLevel,
  Method.Subscribe,
  Method.Unsubscribe,
]);
/**
 * Notifications that mean nothing here, or came too late to mean anything. Behind the service a request of somebody
 * else may have the id, or a question the token, that they name.
 */
const IGNORED: ReadonlySet<string> = new Set([
  NotificationMethod.Cancelled,
  NotificationMethod.Initialized,
  NotificationMethod.Progress,
]);

/**
 * Serves callers of the revision without sessions (2026-07-28): each request says who sends it, and stands for itself.
 * One inbound serves any number of connections; what it shares between them are the exchanges that wait for their
 * callers, and the key that seals what these carry.
 */
export class ModernInbound {
  readonly #service: Service;
  readonly #options: ModernInboundOptions;
  readonly #results: ResultShaper;
  readonly #seal: StateSeal;
  readonly #suspended: SuspendedRequests<InputRounds>;
  /** Being answered now; those that wait for their callers are not among them. */
  readonly #running = new Set<ModernExchange>();
  readonly #subscriptions: Subscriptions;
  readonly #inputRounds = new WeakMap<ModernExchange, InputRounds>();
  #closed = false;
  readonly #idle = new IdleWaiters();

  constructor(service: Service, options: ModernInboundOptions) {
    this.#service = service;
    this.#options = options;
    this.#results = new ResultShaper(options);
    this.#seal = new StateSeal(options.stateKey, options.askTimeout);
    this.#subscriptions = new Subscriptions(options.maxSubscriptions, options.maxSubscriptionsPerPrincipal);
    this.#suspended = new SuspendedRequests({
      lifetime: options.askTimeout,
      maxSuspended: options.maxSuspended,
      maxSuspendedPerPrincipal: options.maxSuspendedPerPrincipal,
    });
  }

  /** Exchanges that wait for their callers. */
  get suspended(): number {
    return this.#suspended.size;
  }

  /** Answers one request. Never throws. */
  request(message: Request, extra: MessageExtra | undefined, reply: ReplyChannel): void {
    try {
      this.#take(message, extra, reply);
    } catch (thrown) {
      this.#refuse(message, reply, RpcError.from(thrown));
    }
  }

  /** Takes in one notification. Returns why it was refused, if it was; that is reported too. Never throws. */
  notification(message: Notification, extra: MessageExtra | undefined): RpcError | undefined {
    const { onerror, supportedVersions } = this.#options;
    if (IGNORED.has(message.method)) return undefined;
    try {
      if (!isNotificationMethod(message.method)) {
        throw new RpcError(
          ErrorCode.InvalidRequest,
          `Invalid request: ${JSON.stringify(message.method)} is not a notification, but it has no id`,
        );
      }
      const caller = readCaller(message, extra, supportedVersions);
      const nowhere: ReplyChannel = { notify: () => Promise.resolve(), answer: () => {}, onclose: undefined };
      const round: Round = { id: '', caller, extra, reply: nowhere, progressToken: undefined };
      const exchange = new ModernExchange(message.method, message.params ?? {}, round, this.#ask);
      invoke(this.#service, exchange).catch((error: unknown) => onerror(RpcError.from(error)));
      return undefined;
    } catch (thrown) {
      const error = RpcError.from(thrown);
      onerror(error);
      return error;
    }
  }

  /** The client will send nothing more: the subscriptions that are answered by these would wait for ever. */
  endSubscriptions(replies: ReadonlySet<ReplyChannel>): void {
    const reason = new RpcError(CONNECTION_CLOSED, 'The client has closed its side of the connection');
    for (const exchange of this.#subscriptions) {
      if (exchange.round && replies.has(exchange.round.reply)) this.#endSubscription(exchange, reason);
    }
  }

  /**
   * Takes no more requests, ends subscriptions and what waits for its caller, and lets what is being answered finish.
   *
   * @param timeout milliseconds after which the rest is given up.
   */
  async close(timeout: number): Promise<void> {
    this.#closed = true;
    const reason = new RpcError(CONNECTION_CLOSED, 'The server is shutting down');
    this.#suspended.close(reason);
    for (const exchange of this.#subscriptions) this.#endSubscription(exchange, reason);
    if (this.#running.size > 0 && timeout > 0) await this.#idle.wait(timeout);
    for (const exchange of this.#running) {
      if (exchange.round) this.#answerError(exchange, exchange.round, reason);
      exchange.abort(reason);
    }
  }

  #take(message: Request, extra: MessageExtra | undefined, reply: ReplyChannel): void {
    const { supportedVersions } = this.#options;
    if (message.method === Method.Initialize && !saysItsRevision(message)) {
      // A client of an older revision has no other hint to show (2026-07-28, versioning: Backward Compatibility).
      throw unsupportedVersion(
        message.params?.['protocolVersion'],
        supportedVersions,
        ', without an initialize handshake',
      );
    }
    const caller = readCaller(message, extra, supportedVersions);
    const { id, method, params = {} } = message;
    if (HANDSHAKE_ONLY.has(method)) {
      throw Refusal.method(method, ` is not part of revision ${caller.revision}`);
    }
    if (isNotificationMethod(method)) {
      throw new RpcError(
        ErrorCode.InvalidRequest,
        `Invalid request: ${method} is a notification and must not carry an id`,
      );
    }
    if (this.#closed) throw new RpcError(CONNECTION_CLOSED, 'The server is shutting down');
    const round: Round = { id, caller, extra, reply, progressToken: progressTokenOf(params) };
    if (params['requestState'] !== undefined || params['inputResponses'] !== undefined) {
      return this.#takeRetry(method, params, round);
    }
    this.#start(method, params, round);
  }

  #takeRetry(method: string, params: JsonObject, round: Round): void {
    const responses = readResponses(params);
    const { requestState, inputResponses, ...original } = params;
    const state = requestState === undefined ? undefined : this.#open(method, params, round);
    if (state?.exchange === undefined) {
      const service = state ? state.service : requestState;
      const own: JsonObject = { ...original };
      if (inputResponses !== undefined) own['inputResponses'] = inputResponses;
      if (service !== undefined) own['requestState'] = service;
      return this.#start(method, own, round, state);
    }
    const waiting = this.#suspended.get(state.exchange);
    if (waiting) {
      // Its reader may be gone as soon as it is told what was said while it was away.
      round.reply.onclose = this.#cancelled(waiting.exchange);
      waiting.resume(round, state.round, responses);
      if (waiting.exchange.round) this.#running.add(waiting.exchange);
      return;
    }
    if (!state.record) {
      throw Refusal.params(
        '"requestState" is of a request that is not waiting for answers: it was answered, took too long, or its process is gone; call again without it',
      );
    }
    this.#start(method, original, round, state, recollect(state, responses));
  }

  /** What a retry carries; undefined if it is not ours but the service's own. */
  #open(method: string, params: JsonObject, { caller }: Round): RequestState | undefined {
    const { requestState } = params;
    if (typeof requestState !== 'string') throw Refusal.params('"requestState" must be a string');
    const binding: StateBinding = {
      principal: caller.principal,
      get digest() {
        return requestDigest(method, params);
      },
    };
    if (this.#options.sealState) return this.#seal.open(requestState, binding);
    try {
      return this.#seal.open(requestState, binding);
    } catch {
      // Whoever stands behind the service may seal as we do.
      return undefined;
    }
  }

  #start(method: string, params: JsonObject, round: Round, state?: RequestState, recollection?: Recollection): void {
    // Unknown members pass, so the filter is only checked.
    if (method === Method.Listen) readFilter(params['notifications']);
    const exchange = new ModernExchange(method, params, round, this.#ask);
    for (const [key, value] of state?.notes ?? []) exchange.notes.set(key, value);
    if (method === Method.Listen) this.#subscriptions.add(exchange);
    else this.#running.add(exchange);
    if (recollection) this.#converse(exchange, recollection);
    round.reply.onclose = this.#cancelled(exchange);
    exchange.onabort = (reason) => this.#over(exchange, reason);
    invoke(this.#service, exchange).then(
      (result) => this.#settle(exchange, () => this.#answerResult(exchange, result)),
      (error: unknown) => this.#settle(exchange, () => this.#fail(exchange, error)),
    );
  }

  #cancelled(exchange: ModernExchange): NonNullable<ReplyChannel['onclose']> {
    return (reason = 'the caller does not wait for the answer') =>
      exchange.abort(new RpcError(ErrorCode.InternalError, `Cancelled: ${reason}`));
  }

  /** The handler has finished. */
  #settle(exchange: ModernExchange, answer: () => void): void {
    if (!this.#inputRounds.get(exchange)?.finish(answer)) answer();
  }

  /** Nothing more will be said in an exchange. */
  #over(exchange: ModernExchange, reason: Error): void {
    this.#subscriptions.delete(exchange);
    this.#inputRounds.get(exchange)?.end(reason);
    this.#rest(exchange);
  }

  #rest(exchange: ModernExchange): void {
    if (this.#running.delete(exchange) && this.#running.size === 0) this.#idle.settle();
  }

  #answerResult(exchange: ModernExchange, result: JsonObject): void {
    const { round, method } = exchange;
    if (!round) return;
    try {
      if (!isObject(result)) throw new TypeError(`${method} returned no result`);
      const complete = needsInput(result) ? this.#checkQuestions(exchange, result) : result;
      const shaped = this.#results.shape(complete, method);
      round.reply.answer(resultResponse(round.id, method === Method.Listen ? subscribed(shaped, round) : shaped));
    } catch (error) {
      return this.#fail(exchange, error);
    }
    this.#answered(exchange);
  }

  #fail(exchange: ModernExchange, thrown: unknown): void {
    if (exchange.round) this.#answerError(exchange, exchange.round, modernError(thrown));
  }

  #answerError(exchange: ModernExchange, { id, reply }: Round, error: RpcError): void {
    this.#refuse({ id, method: exchange.method }, reply, error);
    this.#answered(exchange);
  }

  #refuse({ id, method }: Pick<Request, 'id' | 'method'>, reply: ReplyChannel, error: RpcError): void {
    const status = statusOf(error, method);
    try {
      reply.answer(errorResponse(id, error.toObject()), status);
    } catch (problem) {
      // Its data cannot be written as JSON.
      this.#options.onerror(problem as Error);
      reply.answer(errorResponse(id, { code: error.code, message: error.message }), status);
    }
  }

  #answered(exchange: ModernExchange): void {
    exchange.answered();
    this.#over(exchange, exchange.ended!);
  }

  /**
   * Tells the subscriber that this is the end, and not a broken connection (2026-07-28, patterns/subscriptions:
   * Graceful Closure). patterns/cancellation asks for `notifications/cancelled` too; a client that gets it first takes
   * the end for a failure, and nothing may follow the response.
   */
  #endSubscription(exchange: ModernExchange, reason: RpcError): void {
    this.#answerResult(exchange, {});
    exchange.abort(reason);
  }

  readonly #ask = (
    exchange: ModernExchange,
    method: string,
    params: JsonObject,
    options: Parameters<Exchange['ask']>[2],
  ): Promise<JsonObject> => {
    try {
      this.#checkQuestion(exchange, method, params);
      return this.#converse(exchange).ask(method, params, options);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  #converse(exchange: ModernExchange, recollection?: Recollection): InputRounds {
    let rounds = this.#inputRounds.get(exchange);
    if (!rounds) {
      rounds = new InputRounds(exchange, this.#suspended, this.#sendAway, recollection);
      this.#inputRounds.set(exchange, rounds);
    }
    return rounds;
  }

  /** Answers the request that is there with questions; the exchange waits. */
  readonly #sendAway = (rounds: InputRounds, inputRequests: JsonObject): void => {
    const { exchange } = rounds;
    const { round, method, params } = exchange;
    if (!round) return;
    try {
      const state = rounds.state(this.#options.safeToRerun(exchange));
      const binding = { principal: round.caller.principal, digest: requestDigest(method, params) };
      const requestState = this.#seal.seal(state, binding);
      const result = this.#results.shape({ resultType: 'input_required', inputRequests, requestState }, method);
      round.reply.answer(resultResponse(round.id, result));
      exchange.suspend();
      this.#rest(exchange);
    } catch (error) {
      // The handler hears of it: its question cannot be written as JSON, or what it is asked about is nested too deep.
      rounds.end(RpcError.from(error));
    }
  };

  /** @throws RpcError if a question must not be put to the caller. */
  #checkQuestion({ method: asking, caller }: ModernExchange, method: string, params: JsonObject): void {
    if (!CAN_REQUIRE_INPUT.has(asking)) {
      throw new RpcError(
        ErrorCode.InternalError,
        `${method} was not sent: ${asking} must be answered without questions`,
      );
    }
    checkQuestion(method, params, caller);
  }

  /** A result in which the service itself asks; its state is sealed. @throws RpcError if it asks what it must not. */
  #checkQuestions(exchange: ModernExchange, result: JsonObject): JsonObject {
    for (const { method, params } of questionsOf(exchange.method, result))
      this.#checkQuestion(exchange, method, params);
    if (!CAN_REQUIRE_INPUT.has(exchange.method)) {
      throw new RpcError(ErrorCode.InternalError, `${exchange.method} must be answered without questions`);
    }
    const { noted } = exchange;
    const { requestState } = result;
    if (!this.#options.sealState || (requestState === undefined && !noted?.size)) return result;
    const state: RequestState = { service: requestState, notes: noted && [...noted] };
    const binding = {
      principal: exchange.caller.principal,
      digest: requestDigest(exchange.method, exchange.params),
    };
    return { ...result, requestState: this.#seal.seal(state, binding) };
  }
}

/** The result of a subscription, with its id as on all that came before it. */
function subscribed(result: JsonObject, { id }: Round): JsonObject {
  return { ...result, _meta: { ...(isObject(result['_meta']) ? result['_meta'] : {}), [Meta.SubscriptionId]: id } };
}
