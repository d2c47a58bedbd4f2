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
import { inTurns } from '../../../base/in-turns.ts';
import { quoting, shortJson } from '../../../base/short-text.ts';
import { Waiters } from '../../../base/waiters.ts';
import { IdTable } from '../../../jsonrpc/id-table.ts';
import { invoke } from '../../../core/invoke.ts';
import { Refusal } from '../../../core/refusal.ts';
import { needsInput, questionsOf } from '../../../core/rounds.ts';
import { isNotificationMethod, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { saysItsRevision } from '../../../protocol/own-revision.ts';
import { readFilter } from '../../../protocol/subscriptions.ts';
import type { Implementation } from '../../../protocol/types.ts';
import type { BusReach } from '../../../store/bus.ts';
import type { MessageExtra, ReplyChannel } from '../../../transport/transport.ts';
import { CAN_CONTINUE } from '../../continuation.ts';
import { answerInTurns } from '../../large-results.ts';
import { progressTokenOf } from '../../progress-token.ts';
import type { SafeToRerun } from '../../rerun.ts';
import { checkQuestion, mustAllowQuestions, readResponses } from '../../../core/questions.ts';
import { readCaller, unsupportedVersion } from './caller.ts';
import { InputRounds, recollect, type Recollection } from './input-rounds.ts';
import { modernError, statusOf } from '../translate/errors.ts';
import { ModernExchange, type Round } from './exchange.ts';
import { SuspendedRequests } from './suspended-requests.ts';
import { ResultShaper } from '../translate/results.ts';
import { takeInTurns } from './large-retries.ts';
import { subscriptionResult, Subscriptions } from './subscriptions.ts';
import { PassedRounds } from './passed-rounds.ts';
import { RequestStates } from './request-states.ts';
import type { RequestState } from './sealed-state.ts';

export interface ModernInboundOptions {
  /** Called with errors that cannot be reported to a caller. */
  readonly onerror: (error: Error) => void;
  /** The revisions that are served here, in the order in which errors list them. */
  readonly supportedVersions: readonly string[];
  /** The server information in each result. */
  readonly serverInfo: Implementation | undefined;
  /** How long a caller may take to retry with its answers. Milliseconds. */
  readonly askTimeout: number;
  readonly maxSuspended: number;
  readonly maxSuspendedPerPrincipal: number;
  /** The most open `subscriptions/listen` requests. */
  readonly maxSubscriptions: number;
  readonly maxSubscriptionsPerPrincipal: number;
  readonly stateKey: string | Uint8Array | undefined;
  /** Whether a `requestState` of the service is sealed, so that callers cannot read or change it. */
  readonly sealState: boolean;
  /** Whether a request may run again from the start in a process that does not remember it. */
  readonly safeToRerun: SafeToRerun;
  /** The other processes to which callers may return with answers. */
  readonly reach: BusReach | undefined;
}

/** Methods that only handshake revisions have. They never reach the service. */
const HANDSHAKE_ONLY: ReadonlySet<string> = new Set([
  Method.Initialize,
  Method.Ping,
  Method.SetLevel,
  Method.Subscribe,
  Method.Unsubscribe,
]);
/**
 * Notifications that have no meaning without a session, or whose request has ended. They must not reach the service:
 * behind it, the same id or progress token may belong to another caller. The official Go client sends that of roots in
 * every revision, and closes its connection if it is refused.
 */
const IGNORED: ReadonlySet<string> = new Set([
  NotificationMethod.Cancelled,
  NotificationMethod.Initialized,
  NotificationMethod.Progress,
  NotificationMethod.RootsListChanged,
]);

const RUNS_AGAIN = 'The handler runs again with the answers';
const CANNOT_RUN_AGAIN =
  'In a worker, a handler that asks runs again with the answers: set safeToRerun of the tool, and keep all answers below 64 kB';

/**
 * Serves callers of the revision without sessions (2026-07-28). Each request describes its sender and is independent.
 * One inbound serves any number of connections. They share the suspended exchanges and the key that seals request
 * states.
 */
export class ModernInbound {
  readonly #service: Service;
  readonly #options: ModernInboundOptions;
  readonly #results: ResultShaper;
  readonly #states: RequestStates;
  readonly #suspended: SuspendedRequests<InputRounds>;
  /** Exchanges that are being answered now. Suspended exchanges are not included. */
  readonly #running = new IdTable<number, ModernExchange>();
  readonly #subscriptions: Subscriptions;
  readonly #inputRounds = new WeakMap<ModernExchange, InputRounds>();
  readonly #passed: PassedRounds | undefined;
  #closed = false;
  readonly #idle = new Waiters();

  constructor(service: Service, options: ModernInboundOptions) {
    this.#service = service;
    this.#options = options;
    this.#results = new ResultShaper(options);
    this.#states = new RequestStates(options);
    this.#subscriptions = new Subscriptions(options.maxSubscriptions, options.maxSubscriptionsPerPrincipal);
    this.#suspended = new SuspendedRequests({
      lifetime: options.askTimeout,
      maxSuspended: options.maxSuspended,
      maxSuspendedPerPrincipal: options.maxSuspendedPerPrincipal,
    });
    this.#passed = options.reach && new PassedRounds(options.reach, this.#takePassed, options.onerror);
  }

  /** The number of suspended exchanges. */
  get suspended(): number {
    return this.#suspended.size;
  }

  /** Answers one request. Never throws. */
  request(message: Request, extra: MessageExtra | undefined, reply: ReplyChannel): void {
    try {
      this.#accept(message, extra, reply);
    } catch (thrown) {
      this.#refuse(message, reply, RpcError.from(thrown));
    }
  }

  /** Handles one notification. Returns the error if it was refused. The error is also reported. Never throws. */
  notification(message: Notification, extra: MessageExtra | undefined): RpcError | undefined {
    const { onerror, supportedVersions } = this.#options;
    if (IGNORED.has(message.method)) return undefined;
    try {
      if (!isNotificationMethod(message.method)) {
        throw new RpcError(
          ErrorCode.InvalidRequest,
          `Invalid request: ${shortJson(message.method)} is not a notification, but it has no id`,
        );
      }
      const caller = readCaller(message, extra, supportedVersions);
      const noReply: ReplyChannel = { notify: () => Promise.resolve(), answer: () => {}, onclose: undefined };
      const round: Round = { id: '', caller, extra, reply: noReply, progressToken: undefined };
      const exchange = new ModernExchange(message.method, message.params ?? {}, round, this.#ask);
      invoke(this.#service, exchange).catch((error: unknown) => onerror(RpcError.from(error)));
      return undefined;
    } catch (thrown) {
      const error = RpcError.from(thrown);
      onerror(error);
      return error;
    }
  }

  /**
   * The client will send nothing more. Ends the subscriptions with these replies, because otherwise they would never
   * end.
   */
  endSubscriptions(replies: ReadonlySet<ReplyChannel>): void {
    const reason = new RpcError(CONNECTION_CLOSED, 'The client has closed its side of the connection');
    void inTurns(this.#subscriptions, (exchange) => {
      if (exchange.round && replies.has(exchange.round.reply)) this.#endSubscription(exchange, reason);
    });
  }

  /**
   * Refuses new requests, ends subscriptions and suspended exchanges, and lets requests in progress finish.
   *
   * @param timeout milliseconds after which unfinished requests are ended with an error.
   */
  async close(timeout: number): Promise<void> {
    this.#closed = true;
    const reason = new RpcError(CONNECTION_CLOSED, 'The server is shutting down');
    this.#suspended.close(reason);
    const deadline = performance.now() + timeout;
    await inTurns(this.#subscriptions, (exchange) => this.#endSubscription(exchange, reason));
    if (this.#running.size > 0 && timeout > 0) await this.#idle.wait({ timeout });
    await this.#passed?.whenIdle(deadline - performance.now());
    await inTurns(this.#running.values(), (exchange) => {
      if (exchange.round) this.#answerError(exchange, exchange.round, reason);
      exchange.abort(reason);
    });
    this.#passed?.close(reason);
  }

  #accept(message: Request, extra: MessageExtra | undefined, reply: ReplyChannel): void {
    const { supportedVersions } = this.#options;
    if (message.method === Method.Initialize && !saysItsRevision(message)) {
      // The client speaks an older revision and shows no other information than this error (2026-07-28, versioning:
      // Backward Compatibility).
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
        quoting`Invalid request: ${method} is a notification and must not carry an id`,
      );
    }
    if (this.#closed) throw new RpcError(CONNECTION_CLOSED, 'The server is shutting down');
    const round: Round = { id, caller, extra, reply, progressToken: progressTokenOf(params) };
    if (params['requestState'] !== undefined || params['inputResponses'] !== undefined) {
      return takeInTurns(round, () => {
        try {
          this.#acceptRetry(method, params, round);
        } catch (thrown) {
          this.#refuse(message, reply, RpcError.from(thrown));
        }
      });
    }
    this.#start(method, params, round);
  }

  /** @throws RpcError if it is refused. */
  #acceptRetry(method: string, params: JsonObject, round: Round): void {
    if (this.#closed) throw new RpcError(CONNECTION_CLOSED, 'The server is shutting down');
    const responses = readResponses(params);
    const { requestState, inputResponses, ...original } = params;
    const state = requestState === undefined ? undefined : this.#states.open(round.caller.principal, method, params);
    if (state?.exchange === undefined) {
      const service = state ? state.service : requestState;
      const own: JsonObject = { ...original };
      if (inputResponses !== undefined) own['inputResponses'] = inputResponses;
      if (service !== undefined) own['requestState'] = service;
      return this.#start(method, own, round, state);
    }
    const suspended = this.#suspended.get(state.exchange);
    if (suspended) return this.#resume(suspended, round, state, responses);
    const rerun = (to: Round): void => this.#rerun(method, original, to, state, responses);
    if (!this.#passed?.isElsewhere(state.place)) return rerun(round);
    const request: Request = { jsonrpc: '2.0', id: round.id, method, params };
    this.#passed
      .pass(state.place, request, round, rerun)
      .catch((error: unknown) => this.#refuse(request, round.reply, RpcError.from(error)));
  }

  /** @throws Refusal if the state or an answer is refused. */
  #resume(suspended: InputRounds, round: Round, state: RequestState, responses: JsonObject): void {
    // Set before `resume`, which sends held notifications: the reader may disconnect meanwhile.
    round.reply.onclose = this.#abortOf(suspended.exchange);
    suspended.resume(round, state.round, responses);
    if (suspended.exchange.round) this.#running.set(suspended.exchange.number, suspended.exchange);
  }

  /** Begins again with the answers so far. @throws Refusal if the handler must not run twice. */
  #rerun(method: string, params: JsonObject, round: Round, state: RequestState, responses: JsonObject): void {
    if (this.#closed) throw new RpcError(CONNECTION_CLOSED, 'The server is shutting down');
    if (!state.record) {
      throw Refusal.params(
        '"requestState" belongs to a request that no longer waits for answers: it was answered, timed out, or its process has ended; call again without it',
      );
    }
    this.#start(method, params, round, state, recollect(state, responses));
  }

  /** Continues an exchange with a retry that has reached another process. Returns false if none is suspended here. */
  readonly #takePassed = (request: Request, extra: MessageExtra, reply: ReplyChannel): boolean => {
    const { id, method, params = {} } = request;
    try {
      const caller = readCaller(request, extra, this.#options.supportedVersions);
      const state = this.#states.open(caller.principal, method, params);
      const suspended = state?.exchange === undefined ? undefined : this.#suspended.get(state.exchange);
      if (!state || !suspended) return false;
      // The other headers stay those of the first request.
      const { header } = suspended.exchange;
      const round = { id, caller, extra: { ...extra, header }, reply, progressToken: progressTokenOf(params) };
      this.#resume(suspended, round, state, readResponses(params));
    } catch (error) {
      this.#refuse(request, reply, RpcError.from(error));
    }
    return true;
  };

  #start(method: string, params: JsonObject, round: Round, state?: RequestState, recollection?: Recollection): void {
    // The filter is only validated here. It is passed on unchanged, because unknown members must be kept.
    const filter = method === Method.Listen && readFilter(params['notifications']);
    const exchange = new ModernExchange(method, params, round, this.#ask);
    for (const [key, value] of state?.notes ?? []) exchange.notes.set(key, value);
    if (filter) this.#subscriptions.add(exchange, filter, round.extra?.address);
    else this.#running.set(exchange.number, exchange);
    if (recollection) this.#roundsOf(exchange, recollection);
    round.reply.onclose = this.#abortOf(exchange);
    // A variable first, for the garbage collector (`CallExtra`).
    const onabort = (reason: Error): void => this.#ended(exchange, reason);
    exchange.onabort = onabort;
    invoke(this.#service, exchange).then(
      (result) => {
        const answer = (): void => this.#answerResult(exchange, result);
        this.#settle(exchange, () => answerInTurns(result, exchange.caller, answer));
      },
      (error: unknown) => this.#settle(exchange, () => this.#fail(exchange, error)),
    );
  }

  #abortOf(exchange: ModernExchange): NonNullable<ReplyChannel['onclose']> {
    return (reason = 'the caller no longer waits for the answer') =>
      exchange.abort(new RpcError(ErrorCode.InternalError, quoting`Cancelled: ${reason}`));
  }

  /** The handler has finished. */
  #settle(exchange: ModernExchange, answer: () => void): void {
    if (!this.#inputRounds.get(exchange)?.finish(answer)) answer();
  }

  /** The exchange has ended: nothing more will be sent. */
  #ended(exchange: ModernExchange, reason: Error): void {
    this.#subscriptions.delete(exchange);
    this.#inputRounds.get(exchange)?.end(reason);
    this.#stopRunning(exchange);
  }

  #stopRunning(exchange: ModernExchange): void {
    if (this.#running.delete(exchange.number) && this.#running.size === 0) this.#idle.wake();
  }

  #answerResult(exchange: ModernExchange, result: JsonObject): void {
    const { round, method } = exchange;
    if (!round) return;
    try {
      if (!isObject(result)) throw new TypeError(quoting`${method} returned no result`);
      const complete = needsInput(result) ? this.#checkQuestions(exchange, result) : result;
      const shaped = this.#results.shape(complete, method);
      round.reply.answer(
        resultResponse(round.id, method === Method.Listen ? subscriptionResult(shaped, round) : shaped),
      );
    } catch (error) {
      // The service got no error, so it could not report this one.
      if (!(error instanceof RpcError)) this.#options.onerror(error as Error);
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
    this.#ended(exchange, exchange.ended!);
  }

  /**
   * Sends the result that ends a subscription, so that the subscriber does not take the end for a broken connection
   * (2026-07-28, patterns/subscriptions: Graceful Closure). `notifications/cancelled`, which patterns/cancellation also
   * asks for, is not sent: before the result, a client would take the end for a failure, and after the result, nothing
   * may follow.
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
      mustAllowQuestions(exchange.method);
      checkQuestion(method, params, exchange.caller);
      return this.#roundsOf(exchange).ask(method, params, options);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  #roundsOf(exchange: ModernExchange, recollection?: Recollection): InputRounds {
    let rounds = this.#inputRounds.get(exchange);
    if (!rounds) {
      rounds = new InputRounds(exchange, this.#suspended, this.#suspend, recollection);
      this.#inputRounds.set(exchange, rounds);
    }
    return rounds;
  }

  /** Answers the current request with the questions. The exchange is suspended. */
  readonly #suspend = (rounds: InputRounds, inputRequests: JsonObject): void => {
    const { exchange } = rounds;
    const { round, method, params } = exchange;
    if (!round) return;
    try {
      const state = rounds.state(this.#options.safeToRerun(exchange));
      if (!CAN_CONTINUE && !state.record) throw new RpcError(ErrorCode.InternalError, CANNOT_RUN_AGAIN);
      const own = this.#passed ? { ...state, place: this.#passed.place } : state;
      const requestState = this.#states.seal(own, round.caller.principal, method, params);
      const result = this.#results.shape({ resultType: 'input_required', inputRequests, requestState }, method);
      round.reply.answer(resultResponse(round.id, result));
      if (!CAN_CONTINUE) return exchange.abort(new RpcError(ErrorCode.InternalError, RUNS_AGAIN));
      exchange.suspend();
      this.#stopRunning(exchange);
    } catch (error) {
      // The handler gets the error: a question cannot be written as JSON, or the request is nested too deep.
      rounds.end(RpcError.from(error));
    }
  };

  /**
   * Checks the questions in a result of the service, and seals its state. @throws RpcError if a question is not
   * allowed.
   */
  #checkQuestions(exchange: ModernExchange, result: JsonObject): JsonObject {
    mustAllowQuestions(exchange.method);
    for (const { method, params } of questionsOf(exchange.method, result))
      checkQuestion(method, params, exchange.caller);
    const { noted } = exchange;
    const { requestState } = result;
    if (!this.#options.sealState || (requestState === undefined && !noted?.size)) return result;
    const state: RequestState = { service: requestState, notes: noted && [...noted] };
    const sealed = this.#states.seal(state, exchange.caller.principal, exchange.method, exchange.params);
    return { ...result, requestState: sealed };
  }
}
