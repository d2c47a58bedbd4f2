import { quoting, shortJson, shortText } from '../base/short-text.ts';
import { derive } from '../core/derive.ts';
import {
  compose,
  type AskOptions,
  type Caller,
  type Exchange,
  type Middleware,
  type Service,
} from '../core/exchange.ts';
import { completeRounds, needsInput } from '../core/rounds.ts';
import { guarded, reportTo, stderrReport, withoutOwnStack } from '../jsonrpc/stderr-report.ts';
import { IdTable } from '../jsonrpc/id-table.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { SessionKeeper } from '../transport/http/client/kept-session.ts';
import type { LogLevel } from '../protocol/logging.ts';
import { CACHEABLE, CAN_REQUIRE_INPUT, Meta, Method, NotificationMethod } from '../protocol/methods.ts';
import { MODERN_REVISIONS, REVISIONS, type Revision } from '../protocol/revisions.ts';
import { filterIn } from '../protocol/subscriptions.ts';
import { TASKS_EXTENSION, type DetailedTask } from '../protocol/tasks.ts';
import type { Implementation } from '../protocol/types.ts';
import type { ConnectUpstreamOptions } from '../wire/negotiation.ts';
import type { Upstream } from '../wire/upstream.ts';
import { Call, type CallHost, type CallLimits, type CallListener } from './call.ts';
import { ConnectionError, InvalidResultError, mayRepeat, NoConnection } from './errors.ts';
import type { Change, LogMessage } from './handlers.ts';
import { keepListening } from './keep-listening.ts';
import { Link } from './link.ts';
import type { ClientOptions, ReadOptions } from './options.ts';
import { OutputChecks } from './output-checks.ts';
import { Questions } from './questions.ts';
import { ResultCache } from './result-cache.ts';

/** Opens connections for a client. */
export interface Opener {
  /** Whether it can open more than one connection. */
  readonly reopens: boolean;
  /** Whether the server runs by itself. Default: false. */
  readonly remote?: boolean;
  open(identity: Identity, signal: AbortSignal): Promise<Upstream>;
  /** Releases what it keeps for the next connection. Called when there will be none. */
  close?(): void;
}

/** The identity that the client shows to the server. */
export interface Identity extends Pick<ConnectUpstreamOptions, 'onBehalfOf' | 'attribution'> {
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly onerror: (error: Error) => void;
  /** Keeps the session at an HTTP server for other processes. Default: the session ends with the connection. */
  readonly keeper?: SessionKeeper | undefined;
}

/** Requests that are safe to repeat: all read-only requests of the protocol. */
const READS: ReadonlySet<string> = new Set([
  ...CACHEABLE,
  Method.GetPrompt,
  Method.Complete,
  Method.Ping,
  Method.SetLevel,
  Method.GetTask,
  Method.CancelTask,
]);

const CHANGES: Readonly<Record<string, Change>> = {
  [NotificationMethod.ToolsListChanged]: { type: 'tools' },
  [NotificationMethod.PromptsListChanged]: { type: 'prompts' },
  [NotificationMethod.ResourcesListChanged]: { type: 'resources' },
};

/**
 * Makes requests and receives their notifications and questions. It holds all state that a client keeps between
 * requests.
 */
export class Requester implements CallHost {
  readonly link: Link;
  readonly questions: Questions;
  readonly outputs: OutputChecks;
  readonly cache: ResultCache | undefined;
  readonly options: ClientOptions;
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  /** Fires when the client is closed. */
  readonly closing = new AbortController();
  logLevel: LogLevel | undefined;
  /** The running calls. */
  readonly #calls = new IdTable<number, Call>();
  /** How many questions are open that any call may have asked. Meanwhile all calls are held. */
  #pausing = 0;
  #lastCall = 0;
  /** Called with the first connection that opens a session, if there is no listener for session messages yet. */
  onsession: (() => Promise<unknown>) | undefined;
  readonly onerror: (error: Error) => void;
  readonly #opener: Opener;
  readonly #middleware: Middleware[];
  readonly #session: Caller['session'];
  #service: Service;
  #lastToken = 0;
  #caller: Caller | undefined;

  constructor(options: ClientOptions, clientInfo: Implementation, opener: Opener) {
    const { cache = {}, tasks = true, capabilities = {}, restart = true, middleware = [], onlog } = options;
    this.options = options;
    this.onerror = reportTo(options.onerror ?? stderrReport(undefined, withoutOwnStack));
    this.#opener = opener;
    this.clientInfo = clientInfo;
    this.logLevel = options.logLevel ?? (onlog ? 'info' : undefined);
    this.questions = new Questions(options, this.onerror);
    this.outputs = new OutputChecks(this.onerror);
    this.cache = cache === false ? undefined : new ResultCache(cache);
    const extensions = { ...(tasks && { [TASKS_EXTENSION]: {} }), ...capabilities['extensions'] };
    const declared = Object.keys(extensions).length > 0 ? { extensions } : {};
    this.capabilities = { ...capabilities, ...this.questions.capabilities, ...declared };
    this.#session = { id: crypto.randomUUID(), signal: this.closing.signal };
    this.link = new Link({
      open: (signal) => opener.open(this, signal),
      reopens: opener.reopens && restart,
      remote: opener.remote,
      onopen: (upstream) => this.#opened(upstream),
      onlost: (reason) => {
        // The next connection may be to another server, and cached cursors are valid in their session only.
        this.cache?.clear();
        this.tell(() => options.onlost?.(reason));
      },
      onerror: this.onerror,
    });
    this.#middleware = [...middleware];
    this.#service = compose(this.#sent, ...this.#middleware);
  }

  get loginActiveUntil(): number {
    return this.options.authorizer?.loginActiveUntil ?? 0;
  }

  /** The server, with the middleware around it. */
  get service(): Service {
    return this.#service;
  }

  use(...middleware: readonly Middleware[]): void {
    this.#middleware.push(...middleware);
    this.#service = compose(this.#sent, ...this.#middleware);
  }

  get revision(): Revision {
    return this.link.upstream?.revision ?? this.options.revision ?? MODERN_REVISIONS[0]!;
  }

  get era(): 'legacy' | 'modern' {
    return REVISIONS[this.revision].era;
  }

  /** All calls share this object until its content changes. */
  get caller(): Caller {
    const { revision, era } = this;
    const logLevel = this.#levelIn(era);
    if (this.#caller?.revision !== revision || this.#caller.logLevel !== logLevel) {
      this.#caller = {
        revision,
        logLevel,
        clientInfo: this.clientInfo,
        capabilities: this.capabilities,
        principal: undefined,
        auth: undefined,
        // Messages to the whole session are handled once.
        session: era === 'legacy' ? this.#session : undefined,
      };
    }
    return this.#caller;
  }

  /** The default log level of requests. A session's level is set by a request. */
  #levelIn(era: 'legacy' | 'modern'): LogLevel | undefined {
    return era === 'modern' ? this.logLevel : undefined;
  }

  /**
   * Makes a request and answers its questions. Resolves with its result.
   *
   * @throws RpcError of the server; TimeoutError; ConnectionError; InvalidResultError; the reason of the signal.
   */
  async request(method: string, params: JsonObject, options: ReadOptions = {}): Promise<JsonObject> {
    const { cache } = this;
    const key = options.meta ? undefined : cache?.keyOf(method, params);
    if (key === undefined) return this.#learn(method, await this.#call(method, params, options));
    const known = options.fresh ? undefined : cache!.get(key);
    if (known) return known;
    const { generation } = cache!;
    const result = this.#learn(method, await this.#call(method, params, options));
    cache!.put(key, method, params, result, generation);
    return result;
  }

  /** Sends a notification. */
  async notify(method: string, params: JsonObject): Promise<void> {
    await this.run(this.newCall(method, params, this.limits({})));
  }

  newCall(
    method: string,
    params: JsonObject,
    limits: CallLimits,
    listener?: CallListener & { readonly caller?: Caller },
  ): Call {
    return new Call(this, method, params, limits, listener);
  }

  /** Runs a call, unless the client is closed; closing ends it. */
  async run(call: Call, service: Service = this.#service): Promise<JsonObject> {
    const { aborted, reason } = this.closing.signal;
    if (aborted) throw new NoConnection('The client was closed', { cause: reason });
    const id = ++this.#lastCall;
    this.#calls.set(id, call);
    const pausing = this.#pausing > 0;
    try {
      const result = call.run(service);
      if (pausing) call.hold();
      return await result;
    } finally {
      this.#calls.delete(id);
    }
  }

  limits({ signal, timeout, maxTimeout }: ReadOptions): CallLimits {
    return {
      signal,
      timeout: timeout ?? this.options.timeout ?? 60_000,
      maxTimeout: maxTimeout ?? this.options.maxTimeout ?? 3_600_000,
    };
  }

  notice(call: Call, method: string, params: JsonObject): void {
    this.tell(() => this.#hear(call, method, params));
  }

  /** Calls a handler of the application. What it throws, or rejects with, goes to `onerror`. */
  tell(handler: () => unknown): void {
    guarded(handler, this.onerror)();
  }

  async answer(call: Call, method: string, params: JsonObject, options: AskOptions | undefined): Promise<JsonObject> {
    const outlives = options?.outlivesRequest === true;
    const signal = outlives ? this.closing.signal : call.signal;
    // A question that is refused must not stop the clock: a server could ask so many that it never runs.
    const answer = this.questions.accept(call.method, method, params, this.revision);
    if (outlives) this.#pause();
    else call.hold();
    try {
      return await answer(signal, options);
    } finally {
      if (outlives) this.#unpause();
      else call.release();
    }
  }

  /**
   * The server did not name the call that asked, so no call may time out while the user answers. Only the first of
   * several open questions looks at all calls: a server may ask thousands while thousands of calls are in flight.
   */
  #pause(): void {
    this.#pausing += 1;
    if (this.#pausing === 1) for (const call of this.#calls.values()) call.hold();
  }

  #unpause(): void {
    this.#pausing -= 1;
    if (this.#pausing === 0) for (const call of this.#calls.values()) call.release();
  }

  /** Ends all calls with the reason. Resolves when the connection is closed. */
  async close(reason: Error = new ConnectionError('The client was closed')): Promise<void> {
    this.closing.abort(reason);
    for (const call of this.#calls.values()) call.abort(reason);
    try {
      await this.link.close(reason);
    } finally {
      this.#opener.close?.();
    }
  }

  #call(method: string, params: JsonObject, options: ReadOptions): Promise<JsonObject> {
    const { onprogress, logLevel, meta, idempotent = READS.has(method) } = options;
    const { caller } = this;
    let sent = params;
    if (onprogress || meta) {
      const full: JsonObject = { ...params['_meta'], ...meta };
      if (onprogress) full[Meta.ProgressToken] = ++this.#lastToken;
      sent = { ...params, _meta: full };
    }
    const call = this.newCall(method, sent, this.limits(options), {
      caller: logLevel === undefined || caller.logLevel === logLevel ? caller : { ...caller, logLevel },
      onprogress,
    });
    return this.run(call, async (exchange) => {
      const service = this.#twice(idempotent);
      const result = await service(exchange);
      if (!needsInput(result)) return this.#checked(method, result);
      if (!CAN_REQUIRE_INPUT.has(method))
        throw new InvalidResultError(quoting`The server asked for input to answer ${method}`);
      const { maxRounds = 16 } = this.options;
      return this.#checked(method, await completeRounds(service, exchange, result, { maxRounds }));
    });
  }

  /** Calls the server over the current connection, or else a new one. */
  readonly #sent: Service = (exchange) => {
    const { link } = this;
    return link.current && exchange.caller.revision === this.revision
      ? link.service(exchange)
      : this.#sentAnew(exchange);
  };

  /** Serves a subscription, over one connection after the other. */
  readonly listen: Service = (exchange) =>
    keepListening(exchange, { link: this.link, service: this.#service, onerror: this.onerror });

  /** Since the exchange was made, the connection may have changed its era. If so, it needs another caller. */
  async #sentAnew(exchange: Exchange): Promise<JsonObject> {
    await this.link.connect();
    const { caller } = exchange;
    if (caller.revision === this.revision) return this.link.service(exchange);
    const asked =
      caller.logLevel === this.#levelIn(REVISIONS[caller.revision].era) ? {} : { logLevel: caller.logLevel };
    return this.link.service(derive(exchange, { caller: { ...this.caller, ...asked } }));
  }

  /** Calls the service, and retries once if the connection was lost and a retry does no harm. */
  #twice(idempotent: boolean): Service {
    return async (exchange) => {
      try {
        return await this.#service(exchange);
      } catch (error) {
        if (!mayRepeat(error, idempotent) || exchange.signal.aborted || !this.link.usable) throw error;
        // A cursor is valid in its session only (2025-11-25, server/utilities/pagination: Implementation Guidelines).
        if (exchange.params['cursor'] !== undefined && this.era === 'legacy') throw error;
      }
      return this.#service(exchange);
    };
  }

  /** Clients must treat a result of an unknown type as an error (2026-07-28, basic: Result Responses). */
  #checked(method: string, result: JsonObject): JsonObject {
    const { resultType = 'complete' } = result;
    const { tasks = true } = this.options;
    if (resultType === 'complete' || (resultType === 'task' && method === Method.CallTool && tasks)) return result;
    throw new InvalidResultError(
      `The server answered ${shortText(method)} with a result of the unknown type ${shortJson(resultType)}`,
    );
  }

  #learn(method: string, result: JsonObject): JsonObject {
    if (method === Method.ListTools) this.outputs.catalog.learn(result);
    return result;
  }

  #hear(call: Call, method: string, params: JsonObject): unknown {
    const { onprogress, onacknowledged } = call.hears;
    switch (method) {
      case NotificationMethod.Progress: {
        call.extend();
        if (typeof params['progress'] !== 'number')
          throw new InvalidResultError('The server sent progress without a number');
        const { progressToken: _token, ...progress } = params;
        return onprogress?.(progress as { progress: number });
      }
      case NotificationMethod.Message:
        return this.options.onlog?.(params as LogMessage);
      case NotificationMethod.Acknowledged:
        return onacknowledged?.(filterIn(params));
    }
    const change = changeOf(method, params);
    if (!change) return this.options.onnotification?.(method, params);
    this.cache?.changed(change);
    if (change.type === 'tools') this.outputs.catalog.forget();
    return call.hears.onchange?.(change);
  }

  #opened({ revision }: Upstream): void {
    // It may be another server than before.
    this.outputs.catalog.forget();
    if (REVISIONS[revision].era === 'modern') return;
    this.applyLogLevel().catch(this.onerror);
    const { onsession } = this;
    this.onsession = undefined;
    onsession?.().catch(this.onerror);
  }

  /** Sets the log level of a session (2025-11-25, server/utilities/logging). Requests of 2026-07-28 carry it themselves. */
  async applyLogLevel(): Promise<void> {
    const { logLevel, era } = this;
    if (logLevel === undefined || era === 'modern') return;
    if (!isObject(this.link.upstream?.discovered.capabilities['logging'])) return;
    await this.request(Method.SetLevel, { level: logLevel });
  }
}

function changeOf(method: string, params: JsonObject): Change | undefined {
  if (method === NotificationMethod.ResourceUpdated) {
    if (typeof params['uri'] !== 'string')
      throw new InvalidResultError('The server sent a resource update without a uri');
    return { type: 'resource', uri: params['uri'] };
  }
  if (method === NotificationMethod.Task) return { type: 'task', task: params as DetailedTask };
  return Object.hasOwn(CHANGES, method) ? CHANGES[method] : undefined;
}
