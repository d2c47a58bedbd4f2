import { isPeerUrl } from '../base/peer-url.ts';
import { paced } from '../base/paced.ts';
import { inShortTurns } from '../base/short-turns.ts';
import { peerOf } from '../core/peer-of.ts';
import type { AskOptions, Caller, Exchange } from '../core/exchange.ts';
import { ELICIT_ACTIONS } from '../core/questions.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isRequestId, type JsonObject } from '../jsonrpc/message.ts';
import { missingCapability } from '../protocol/capabilities.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { reaches, type LogLevel } from '../protocol/logging.ts';
import { Meta, Method, NotificationMethod } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { checkSampling } from '../protocol/sampling-rules.ts';
import type { SampleParams, SampleResult } from '../protocol/sampling.ts';
import type { AuthInfo, ElicitResult, Root } from '../protocol/types.ts';
import { formOf } from './form.ts';
import type { Arguments } from './infer.ts';
import { once } from './once.ts';
import { complaint } from '../schema/complaint.ts';
import type { AnySchema, StandardSchema } from './schema.ts';
import type { StartTaskOptions } from './task-rules.ts';

/**
 * The schema of a form: a flat object of strings, numbers, integers, booleans and choices (client/elicitation:
 * Requested Schema).
 */
export type ElicitForm<S extends AnySchema> =
  | { message: string; /** A Standard Schema, or a JSON Schema. */ schema: S }
  | { message: string; /** The same under the name that it has on the wire. */ requestedSchema: S };

/** The values that a form can have. */
type FormValue = string | number | boolean | readonly string[] | null | undefined;

/** Refuses a schema with other values, such as nested objects, at compile time, with a message. */
type FlatForm<S> =
  S extends StandardSchema<infer Input, any>
    ? {
        [K in keyof Input]-?: unknown extends Input[K] ? never : Input[K] extends FormValue ? never : K;
      }[keyof Input] extends never
      ? unknown
      : 'A form has only strings, numbers, booleans and lists of choices, and no nested objects'
    : unknown;

/** The answer to a form. `content` holds the values: they are checked, and have the schema's defaults filled in. */
export type ElicitAnswer<T> =
  | { action: 'accept'; content: T; _meta?: JsonObject }
  | { action: 'decline'; content?: undefined; _meta?: JsonObject }
  | { action: 'cancel'; content?: undefined; _meta?: JsonObject };

/** The kinds of questions that a caller may support. */
export type CallerFeature = 'elicitation' | 'elicitation.url' | 'sampling' | 'sampling.tools' | 'roots';

const FEATURES: Readonly<Record<CallerFeature, readonly [method: string, params: JsonObject]>> = {
  elicitation: [Method.Elicit, {}],
  'elicitation.url': [Method.Elicit, { mode: 'url' }],
  sampling: [Method.CreateMessage, {}],
  'sampling.tools': [Method.CreateMessage, { tools: [] }],
  roots: [Method.ListRoots, {}],
};

const DROPPED = Promise.resolve();

/**
 * Lets a handler send notifications to its caller, ask it questions, and see its identity. The same methods work in every
 * revision.
 *
 * A question rejects with an `RpcError`: with code −32601 (−32021 from 2026-07-28) if the caller lacks the capability,
 * in which case nothing is sent; with −32602 if the answer is malformed; otherwise with the caller's own error. The
 * last argument of a question may contain a `key`, which identifies the question within its request, and a `signal`,
 * which cancels it.
 *
 * From 2026-07-28, a caller repeats its request with the answers. If another process receives them, the handler runs
 * again from the start. Questions are matched by their keys, or else by their order. So ask in the same order, or use
 * keys. Steps in `once` are not repeated (2026-07-28, basic/patterns/mrtr).
 */
export class Context {
  /** The request as it was received. */
  readonly exchange: Exchange;
  readonly #start: ((options: StartTaskOptions) => Promise<boolean>) | undefined;
  #progress = Number.NEGATIVE_INFINITY;

  /** @param start turns the call into a task, for tools that work as tasks. */
  constructor(exchange: Exchange, start?: (options: StartTaskOptions) => Promise<boolean>) {
    this.exchange = exchange;
    this.#start = start;
  }

  /** The caller and its capabilities. */
  get caller(): Caller {
    return this.exchange.caller;
  }

  /** The data of the caller's credential. Undefined if the caller sent none. */
  get auth(): AuthInfo | undefined {
    return this.exchange.caller.auth;
  }

  /**
   * A header of the HTTP request; its name is case-insensitive. Undefined if the header is missing or the transport is
   * not HTTP. Headers with credentials are hidden.
   */
  header(name: string): string | undefined {
    return this.exchange.header?.(name.toLowerCase());
  }

  /** Whether the caller supports this kind of question: it declared the capability, and its revision has it. */
  can(feature: CallerFeature): boolean {
    const [method, params] = FEATURES[feature];
    const { capabilities, revision } = this.exchange.caller;
    return missingCapability(method, params, capabilities, REVISIONS[revision]) === undefined;
  }

  /** Fires when the caller cancels the request, or disconnects for good. */
  get signal(): AbortSignal {
    return this.exchange.signal;
  }

  /**
   * Sends progress to the caller. Nothing is sent if the caller did not request progress, or if `progress` did not
   * increase since the last call (2025-11-25, basic/utilities/progress: the value MUST increase). Resolves when the
   * transport has accepted it. It need not be awaited.
   */
  progress(progress: number, total?: number, message?: string): Promise<void> {
    const { _meta: meta } = this.exchange.params;
    const progressToken: unknown = isObject(meta) ? meta[Meta.ProgressToken] : undefined;
    if (!isRequestId(progressToken) || !Number.isFinite(progress) || progress <= this.#progress) {
      return paced(DROPPED);
    }
    this.#progress = progress;
    const params: JsonObject = { progressToken, progress };
    if (total !== undefined) params['total'] = total;
    if (message !== undefined) params['message'] = message;
    return this.#notify(NotificationMethod.Progress, params);
  }

  /**
   * Sends a log message to the caller, unless it is below the level that the caller set. `data` is any JSON value.
   * Resolves when the transport has accepted it. It need not be awaited.
   */
  log(level: LogLevel, data: unknown, logger?: string): Promise<void> {
    if (!reaches(level, this.exchange.caller.logLevel)) return paced(DROPPED);
    return this.#notify(NotificationMethod.Message, logger === undefined ? { level, data } : { level, logger, data });
  }

  /**
   * Turns the call into a task, in a tool with `task.start: 'by-handler'`. The caller gets the task at once, and
   * everything that the handler does from then on belongs to the task. Ask questions that must come first before this
   * call (tasks extension: Task Creation). Resolves with true when the task is stored. Resolves with false if the
   * caller does not support tasks or no more tasks are accepted: the call then continues as an ordinary request.
   * Further calls only change the task's status message.
   *
   * @throws Error if the tool has no `task` setting; RpcError −32603 if the tool requires a task and no more are
   * accepted; the signal's reason if the caller has left.
   */
  async startTask(options: StartTaskOptions = {}): Promise<boolean> {
    if (!this.#start) throw new Error('startTask is only for tools that run as tasks: set ToolConfig.task');
    return this.#start(options);
  }

  /**
   * Required from 2025-11-25 on (client/sampling: Capabilities). Earlier revisions allow the request to every client.
   */
  #checkContext({ includeContext = 'none' }: SampleParams): void {
    const { capabilities, revision } = this.exchange.caller;
    const { era, samplingFeatures } = REVISIONS[revision];
    if (includeContext === 'none' || !samplingFeatures || isObject(capabilities['sampling']?.['context'])) return;
    const [code, data] =
      era === 'modern'
        ? [McpErrorCode.MissingRequiredClientCapability, { requiredCapabilities: { sampling: { context: {} } } }]
        : [ErrorCode.MethodNotFound, undefined];
    throw new RpcError(
      code,
      `${Method.CreateMessage} was not sent: includeContext needs the sampling.context capability, which the client does not have`,
      { data },
    );
  }

  #notify(method: string, params: JsonObject): Promise<void> {
    const sent = this.exchange.notify(method, params);
    // Handlers often do not await the result, and middleware may have made the exchange. So a rejection is reported
    // here.
    sent.catch(() => {});
    return sent;
  }

  /**
   * Asks the user to fill in a form (client/elicitation: Form Mode Elicitation Requests). Never use it for passwords,
   * keys or other secrets: use `elicitUrl` for those.
   *
   * @throws TypeError (rejects) if a form cannot have this schema; nothing is sent then. RpcError −32602 if the values
   * do not match the schema.
   */
  async elicit<const S extends AnySchema>(
    form: ElicitForm<S> & { schema?: FlatForm<S>; requestedSchema?: FlatForm<S> },
    options: AskOptions = {},
  ): Promise<ElicitAnswer<Arguments<S>>> {
    const { message, schema: named, requestedSchema } = isObject(form) ? form : {};
    const given = named ?? requestedSchema;
    if (typeof message !== 'string' || given === undefined)
      throw new TypeError('elicit takes an object with the text and the form: { message, schema }');
    const schema = formOf(given as AnySchema);
    const params = { message, requestedSchema: schema.json };
    const answer = checkedAnswer(await this.exchange.ask(Method.Elicit, params, options));
    if (answer.action !== 'accept') return withoutContent(answer, answer.action);
    const checked = await inShortTurns(() => schema.validate(answer.content ?? {}), peerOf(this.exchange.caller));
    if (checked.issues) {
      throw new RpcError(ErrorCode.InvalidParams, `The answer does not match the form: ${complaint(checked.issues)}`);
    }
    return { ...answer, action: 'accept', content: checked.value as Arguments<S> };
  }

  /**
   * Asks the user to open a URL, for data that must not pass through the client (client/elicitation: URL Mode
   * Elicitation Requests). `accept` means that the user agreed to open it, not that they are done there.
   * `elicitationId` is used in revision 2025-11-25 only. Default: a generated id.
   *
   * @throws TypeError (rejects) if `url` is not a URL.
   */
  async elicitUrl(
    visit: { message: string; url: string; elicitationId?: string },
    options: AskOptions = {},
  ): Promise<ElicitAnswer<undefined>> {
    const { message, url } = visit;
    if (!isPeerUrl(url))
      throw new TypeError('elicitUrl: url must be an absolute URL, such as https://example.com/login');
    const params: JsonObject = { mode: 'url', message, url };
    if (REVISIONS[this.exchange.caller.revision].era === 'legacy')
      params['elicitationId'] = visit.elicitationId ?? crypto.randomUUID();
    const answer = checkedAnswer(await this.exchange.ask(Method.Elicit, params, options));
    return answer.action === 'accept'
      ? { ...answer, action: 'accept', content: undefined }
      : withoutContent(answer, answer.action);
  }

  /**
   * Asks the caller's model for a message (client/sampling).
   *
   * @throws TypeError (rejects) if the messages break the rules for tool uses and their results (client/sampling:
   * Message Content Constraints). RpcError if `includeContext` needs `sampling.context` and the caller lacks it.
   * Nothing is sent in either case.
   */
  async sample(params: SampleParams, options: AskOptions = {}): Promise<SampleResult> {
    checkSampling(params);
    this.#checkContext(params);
    const result = await this.exchange.ask(Method.CreateMessage, { ...params }, options);
    if (!isObject(result['content']) && !Array.isArray(result['content']))
      throw new RpcError(ErrorCode.InvalidParams, 'The client answered sampling/createMessage without content');
    return result as SampleResult;
  }

  /**
   * Asks the caller for its roots (client/roots).
   *
   * @throws RpcError −32602 if the answer has no roots.
   */
  async roots(options: AskOptions = {}): Promise<Root[]> {
    const { roots } = await this.exchange.ask(Method.ListRoots, {}, options);
    if (!Array.isArray(roots))
      throw new RpcError(ErrorCode.InvalidParams, 'The client answered roots/list without roots');
    return roots as Root[];
  }

  /**
   * Runs `make` once for this request, even if the handler runs again, and returns a copy of its value. Parallel calls
   * share one run. A run that fails is not remembered. The value must be JSON or undefined. It travels, sealed, in the
   * request's state, so keep it small.
   *
   * @throws TypeError (rejects) if the value is not JSON; and any error of `make`.
   */
  once<T>(key: string, make: () => T | Promise<T>): Promise<T> {
    return once(this.exchange.notes, key, make) as Promise<T>;
  }

  /** The answers to the questions of `inputRequired`, by their keys. Empty in the first run. */
  get inputResponses(): Readonly<Record<string, JsonObject>> {
    const responses: unknown = this.exchange.params['inputResponses'];
    return isObject(responses) ? responses : {};
  }

  /** The state that the handler gave to `inputRequired`, unchanged. Undefined in the first run. */
  get requestState(): string | undefined {
    const state: unknown = this.exchange.params['requestState'];
    return typeof state === 'string' ? state : undefined;
  }
}

/** @throws RpcError −32602 if the answer to an elicitation is malformed. */
function checkedAnswer(answer: JsonObject): JsonObject & Pick<ElicitResult, 'action'> {
  const { action } = answer;
  if (!ELICIT_ACTIONS.has(action)) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      'The action of the answer to elicitation/create must be accept, decline or cancel',
    );
  }
  return answer as JsonObject & Pick<ElicitResult, 'action'>;
}

/** If the user declined or cancelled, drop the values that they had typed. */
function withoutContent({ _meta }: JsonObject, action: 'decline' | 'cancel'): ElicitAnswer<never> {
  return _meta === undefined ? { action } : { action, _meta };
}
