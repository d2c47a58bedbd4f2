import { pause } from '../base/wait.ts';
import { Waiters } from '../base/waiters.ts';
import { Deadline } from '../base/deadline.ts';
import { Deferred } from '../base/deferred.ts';
import type { Client } from '../client/client.ts';
import type { ClientOptions } from '../client/options.ts';
import { derive } from '../core/derive.ts';
import type { Caller, Middleware } from '../core/exchange.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { without } from '../jsonrpc/shape.ts';
import type { LogLevel } from '../protocol/logging.ts';
import { Meta, Method, NotificationMethod } from '../protocol/methods.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import { isTerminal } from '../protocol/tasks.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { PATIENCE } from './catch-up.ts';
import { RecordedAnswers } from './recorded-answers.ts';
import { RepeatedExchange, type Hears } from './repeated-exchange.ts';
import { capabilitiesOf, PAGED, type SessionEvents, type SessionRequest } from './session-requests.ts';

export interface RepeatedSessionOptions {
  /** Connects to the server with these options, and the caller's own. */
  readonly connect: (options: ClientOptions) => Promise<Client>;
  /** The revision to speak. */
  readonly revision: Revision;
  /** How long a request may go without an answer or progress, in milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** The ids of tasks that the recorded server made, and those of the present one. All sessions share them. */
  readonly taskIds: Map<string, string>;
}

/** How long to wait between two looks at a task, if the server does not say. Milliseconds. */
const LOOK_INTERVAL = 500;
/** Marks the lists of tools that are repeated. Over HTTP, the client library may list them for itself (2026-07-28). */
const REPEATED = 'dev.everwire/repeated';
/** The most pages of a list that are requested. */
const MAX_PAGES = 1000;

/** What the client library writes into `_meta` itself. */
const OF_THE_SENDER = [Meta.ProtocolVersion, Meta.ClientInfo, Meta.ClientCapabilities, Meta.LogLevel];

/** The recorded requests of one session, sent to another server over one connection. */
export class RepeatedSession {
  readonly #events: SessionEvents;
  readonly #options: RepeatedSessionOptions;
  readonly #client: Client;
  readonly #answers: RecordedAnswers;
  #subscriptions: { readonly end: number; readonly exchange: RepeatedExchange }[] = [];

  private constructor(
    client: Client,
    events: SessionEvents,
    answers: RecordedAnswers,
    options: RepeatedSessionOptions,
  ) {
    this.#client = client;
    this.#events = events;
    this.#answers = answers;
    this.#options = options;
  }

  /** Connects. @throws an error of `connect`. */
  static async open(events: SessionEvents, options: RepeatedSessionOptions): Promise<RepeatedSession> {
    const answers = new RecordedAnswers([
      ...events.requests.flatMap(({ questions }) => questions),
      ...events.questions,
    ]);
    // The client library listens to the session. What comes there is answered from the recording, too.
    const listens: Middleware = (next) => (exchange) => {
      if (exchange.method !== Method.Listen || exchange instanceof RepeatedExchange) return next(exchange);
      return next(derive(exchange, { ask: async (method, params) => answers.answer(method, params) }));
    };
    const client = await options.connect({
      revision: options.revision,
      capabilities: capabilitiesOf(events.requests),
      tasks: false,
      restart: false,
      cache: false,
      middleware: [listens],
      signal: options.signal,
      onerror: () => {},
    });
    return new RepeatedSession(client, events, answers, options);
  }

  /**
   * Sends a request. Settles when it was answered, when its time is over, and for a subscription when it was
   * acknowledged. Never rejects: what the server answers is compared on the wire.
   */
  async send(request: SessionRequest): Promise<void> {
    try {
      await this.#send(request);
    } catch {
      // The answer of the server is compared, whatever it is.
    }
  }

  /** Tells the server that the roots have changed. */
  async rootsChanged(): Promise<void> {
    await this.#client.notify(NotificationMethod.RootsListChanged).catch(() => {});
  }

  /** Ends the subscriptions that the recorded client had ended at a time, in microseconds. */
  endSubscriptions(at: number): void {
    for (const { end, exchange } of this.#subscriptions) if (end <= at) exchange.abort(new Error('Unsubscribed'));
    this.#subscriptions = this.#subscriptions.filter(({ end }) => end > at);
  }

  async close(): Promise<void> {
    this.endSubscriptions(Infinity);
    await this.#client.close().catch(() => {});
  }

  async #send(request: SessionRequest): Promise<void> {
    const { method } = request;
    const params = this.#paramsOf(request);
    if (method === Method.Listen) return this.#listen(request, params);
    let result = await this.#run(request, params);
    if (method in PAGED) await this.#followPages(request, params, result);
    else if (method === Method.GetTask) result = await this.#follow(request, params, result);
    if (request.answer && 'result' in request.answer) this.#learnTask(request.answer.result, result);
  }

  async #followPages(request: SessionRequest, params: JsonObject, first: JsonObject): Promise<void> {
    const { answer } = request;
    // The recorded client did not want all pages.
    if (!answer || 'error' in answer || answer.result['nextCursor'] !== undefined) return;
    let { nextCursor }: JsonObject = first;
    for (let pages = 1; typeof nextCursor === 'string' && pages < MAX_PAGES; pages += 1)
      ({ nextCursor } = await this.#run(request, { ...params, cursor: nextCursor }));
  }

  /** Looks at a task until it is where it was in the recording, or has ended. */
  async #follow(request: SessionRequest, params: JsonObject, first: JsonObject): Promise<JsonObject> {
    const { answer } = request;
    const wanted: unknown = answer && 'result' in answer ? answer.result['status'] : undefined;
    const { timeout, signal } = this.#options;
    let result = first;
    for (const end = performance.now() + timeout; performance.now() < end && !signal.aborted;) {
      const { status, pollIntervalMs, pollInterval = pollIntervalMs }: JsonObject = result;
      if (wanted === undefined || wanted === 'working' || status === wanted) break;
      if (isTerminal(status)) break;
      await pause(typeof pollInterval === 'number' ? Math.min(pollInterval, timeout) : LOOK_INTERVAL, signal);
      result = await this.#run(request, params);
    }
    return result;
  }

  async #listen(request: SessionRequest, params: JsonObject): Promise<void> {
    const acknowledged = new Deferred();
    const exchange = this.#exchange(request, params, (method) => {
      if (method === NotificationMethod.Acknowledged) acknowledged.resolve();
    });
    this.#subscriptions.push({ end: request.cancelled ?? Infinity, exchange });
    const deadline = new Deadline({ timeout: this.#options.timeout }, () => acknowledged.resolve());
    await Promise.race([acknowledged.promise, exchange.run(this.#client.service, false)]);
    deadline.clear();
  }

  /** Sends a request once, with its rounds of questions. Cancels it when the recorded client did. */
  async #run(request: SessionRequest, params: JsonObject): Promise<JsonObject> {
    const { signal } = this.#options;
    const { sent, answered, cancelled, answer } = request;
    const took = ((answered ?? sent) - sent) / 1000;
    const limit = Math.max(this.#options.timeout, 2 * took);
    let heard = 0;
    const more = new Waiters();
    const exchange = this.#exchange(request, params, () => {
      deadline.extend();
      heard += 1;
      more.wake();
    });
    const deadline = new Deadline({ timeout: limit }, () => exchange.abort(new Error(`No answer within ${limit} ms`)));
    const abort = (): void => exchange.abort(signal.reason as Error);
    signal.addEventListener('abort', abort);
    try {
      const wasOpen = answer && 'result' in answer && answer.result['resultType'] === 'input_required';
      const isModern = profileOf(this.#client.revision)?.era === 'modern';
      const running = exchange.run(this.#client.service, isModern && !wasOpen);
      if (cancelled === undefined || answer !== undefined) return await running;
      running.catch(() => {});
      await pause((cancelled - sent) / 1000, exchange.signal);
      // The client may have waited for them.
      const before = request.notices.length + request.questions.length;
      for (const end = performance.now() + PATIENCE; heard < before && performance.now() < end && !signal.aborted;)
        await more.wait({ signal: exchange.signal, timeout: PATIENCE });
      exchange.abort(new Error('Cancelled as in the recording'));
      return await running;
    } finally {
      deadline.clear();
      signal.removeEventListener('abort', abort);
    }
  }

  #exchange(request: SessionRequest, params: JsonObject, onheard: (method: string) => void): RepeatedExchange {
    const hears: Hears = {
      notify: onheard,
      ask: (method, about) => {
        onheard(method);
        return this.#answers.answer(method, about, request.questions);
      },
    };
    return new RepeatedExchange(request.method, params, this.#callerOf(request), hears);
  }

  #callerOf({ params }: SessionRequest): Caller {
    const meta: JsonObject = isObject(params['_meta']) ? params['_meta'] : {};
    const { revision } = this.#client;
    const capabilities: unknown = meta[Meta.ClientCapabilities];
    return {
      revision,
      clientInfo: undefined,
      capabilities: isObject(capabilities) ? capabilities : capabilitiesOf(this.#events.requests),
      principal: undefined,
      auth: undefined,
      logLevel: meta[Meta.LogLevel] as LogLevel | undefined,
      session: profileOf(revision)?.era === 'legacy' ? { id: 'replay', signal: this.#options.signal } : undefined,
    };
  }

  #paramsOf({ method, params }: SessionRequest): JsonObject {
    const { taskIds } = this.#options;
    const meta: unknown = params['_meta'];
    const found: JsonObject = { ...params };
    if (isObject(meta)) found['_meta'] = without(meta, OF_THE_SENDER);
    if (method === Method.ListTools && profileOf(this.#client.revision)?.era === 'modern')
      found['_meta'] = { ...found['_meta'], [REPEATED]: true };
    const { taskId } = params;
    if (typeof taskId === 'string') found['taskId'] = taskIds.get(taskId) ?? taskId;
    return found;
  }

  #learnTask(recorded: JsonObject, now: JsonObject): void {
    const [before, after] = [taskIdOf(recorded), taskIdOf(now)];
    if (before !== undefined && after !== undefined) this.#options.taskIds.set(before, after);
  }
}

/** Whether the client library sent a request for itself. */
export function isOfTheLibrary({ message: { method, params }, revision }: RecordedCall): boolean {
  const isModern = profileOf(revision)?.era === 'modern';
  return isModern && method === Method.ListTools && params?.['_meta']?.[REPEATED] !== true;
}

/** The id of a task that a result has. 2025-11-25 puts the task into a member. */
export function taskIdOf({ taskId, task }: JsonObject): string | undefined {
  const id: unknown = taskId ?? (isObject(task) ? task['taskId'] : undefined);
  return typeof id === 'string' ? id : undefined;
}
