import { inTurn } from '../core/turn.ts';
import type { AskOptions, Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isRequestId, type JsonObject } from '../jsonrpc/message.ts';
import { missingCapability } from '../protocol/capabilities.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { reaches, type LogLevel } from '../protocol/logging.ts';
import { Meta, Method, Notice } from '../protocol/methods.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { checkSampling } from '../protocol/sampling-rules.ts';
import type { SampleParams, SampleResult } from '../protocol/sampling.ts';
import type { AuthInfo, ElicitResult, Root } from '../protocol/types.ts';
import { formOf } from './form.ts';
import type { Arguments } from './infer.ts';
import { once } from './once.ts';
import { complaint, type AnySchema } from './schema.ts';
import { TaskExchange, type StartTaskOptions } from './task-exchange.ts';

/** What a form asks: a flat object of strings, numbers, integers, booleans and choices (client/elicitation: Requested Schema). */
export type ElicitForm<S extends AnySchema> =
  | { message: string; /** A Standard Schema, or a JSON Schema. */ schema: S }
  | { message: string; /** The same under the name that it has on the wire. */ requestedSchema: S };

/** What became of a form; `content` is what was filled in, checked, with the defaults of the schema. */
export type ElicitAnswer<T> =
  | { action: 'accept'; content: T; _meta?: JsonObject }
  | { action: 'decline' | 'cancel'; content?: undefined; _meta?: JsonObject };

/** What a caller may be able to do for a handler. */
export type CallerFeature = 'elicitation' | 'elicitation.url' | 'sampling' | 'sampling.tools' | 'roots';

const FEATURES: Readonly<Record<CallerFeature, readonly [method: string, params: JsonObject]>> = {
  elicitation: [Method.Elicit, {}],
  'elicitation.url': [Method.Elicit, { mode: 'url' }],
  sampling: [Method.CreateMessage, {}],
  'sampling.tools': [Method.CreateMessage, { tools: [] }],
  roots: [Method.ListRoots, {}],
};

const ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

const DROPPED = Promise.resolve();

/**
 * What a handler can do beside returning a result: tell its caller something, ask it something, learn who it is. The
 * same calls serve every revision.
 *
 * Every question rejects with an `RpcError`: −32601 where the caller lacks the capability, −32021 from 2026-07-28, and
 * nothing is sent then; −32602 where the answer is none; otherwise the caller's own. Its last argument may hold a `key`,
 * what the question is called among those of its request, and a `signal`, which takes it back. From 2026-07-28 a caller
 * comes again with its answers, and where another process gets them the handler runs anew from the start: its questions
 * are the same where it asks them in the same order or by the same keys, and what `once` did is not done again
 * (2026-07-28, basic/patterns/mrtr).
 */
export class Context {
  /** The request being answered, raw. */
  readonly exchange: Exchange;
  #progress = Number.NEGATIVE_INFINITY;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  /** Who is asking, and what they can do. */
  get caller(): Caller {
    return this.exchange.caller;
  }

  /** What is known of the caller from its credential; undefined where it showed none. */
  get auth(): AuthInfo | undefined {
    return this.exchange.caller.auth;
  }

  /** A header of the HTTP request, whatever the case of its name; undefined where there is none, or no HTTP. Credentials are not shown. */
  header(name: string): string | undefined {
    return this.exchange.header?.(name.toLowerCase());
  }

  /** Whether the caller can be asked this. What its revision does not have it cannot, whatever it declared. */
  can(feature: CallerFeature): boolean {
    const [method, params] = FEATURES[feature];
    const { capabilities, revision } = this.exchange.caller;
    return missingCapability(method, params, capabilities, REVISIONS[revision]) === undefined;
  }

  /** Fires when the caller cancelled, or is gone for good. */
  get signal(): AbortSignal {
    return this.exchange.signal;
  }

  /**
   * Tells the caller how far the work is; nothing is sent where it did not ask to know, or where `progress` did not grow
   * since the last time (2025-11-25, basic/utilities/progress: the value MUST increase). Resolves when the transport has
   * taken it; need not be awaited.
   */
  progress(progress: number, total?: number, message?: string): Promise<void> {
    const { _meta: meta } = this.exchange.params;
    const progressToken: unknown = isObject(meta) ? meta[Meta.ProgressToken] : undefined;
    if (!isRequestId(progressToken) || !Number.isFinite(progress) || progress <= this.#progress) {
      return inTurn(DROPPED);
    }
    this.#progress = progress;
    const params: JsonObject = { progressToken, progress };
    if (total !== undefined) params['total'] = total;
    if (message !== undefined) params['message'] = message;
    return this.#notify(Notice.Progress, params);
  }

  /**
   * Sends a log message to the caller; nothing where it asked for more severe ones only. `data` is anything that can be
   * written as JSON. Resolves when the transport has taken it; need not be awaited.
   */
  log(level: LogLevel, data: unknown, logger?: string): Promise<void> {
    if (!reaches(level, this.exchange.caller.logLevel)) return inTurn(DROPPED);
    return this.#notify(Notice.Message, logger === undefined ? { level, data } : { level, logger, data });
  }

  /**
   * Makes a task of the call, in a tool whose `task.start` is `by-handler`: its caller is told at once that there is one,
   * and what the handler does from then on belongs to the task. Questions that must come before are to be answered by then
   * (tasks extension: Task Creation). Resolves when the task is stored, with true; with false where the caller cannot have
   * one, or no more are taken, and the call goes on as it is. Further calls change only how the task stands.
   *
   * @throws Error where the tool does not work as a task; RpcError −32603 where it works as a task only and no more are
   * taken; the reason of the signal where the caller has left.
   */
  async startTask(options: StartTaskOptions = {}): Promise<boolean> {
    if (!(this.exchange instanceof TaskExchange))
      throw new Error('startTask is for tools that work as tasks: see ToolConfig.task');
    return this.exchange.call.start(options);
  }

  /** From 2025-11-25 on (client/sampling: Capabilities); before, every client might be asked for context. */
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
    // Handlers often do not await it, and the exchange may be one that middleware made.
    sent.catch(() => {});
    return sent;
  }

  /**
   * Asks the person behind the caller to fill in a form (client/elicitation: Form Mode Elicitation Requests). Never for
   * passwords, keys and the like: those go by `elicitUrl`.
   *
   * @throws TypeError (rejects) where the schema is none that a form can have, and nothing is sent then; RpcError −32602
   * where what was filled in does not match it.
   */
  async elicit<const S extends AnySchema>(
    form: ElicitForm<S>,
    options: AskOptions = {},
  ): Promise<ElicitAnswer<Arguments<S>>> {
    const schema = formOf('schema' in form ? form.schema : form.requestedSchema);
    const params = { message: form.message, requestedSchema: schema.json };
    const answer = checkedAnswer(await this.exchange.ask(Method.Elicit, params, options));
    if (answer.action !== 'accept') return withoutContent(answer, answer.action);
    const verdict = await schema.validate(answer.content ?? {});
    if (verdict.issues) {
      throw new RpcError(ErrorCode.InvalidParams, `The form was not filled in as asked: ${complaint(verdict.issues)}`);
    }
    return { ...answer, action: 'accept', content: verdict.value as Arguments<S> };
  }

  /**
   * Asks the person behind the caller to go to an address, for what must not pass through the client (client/elicitation:
   * URL Mode Elicitation Requests). `accept` means that they agreed to go there, not that they are done. `elicitationId`
   * is for revision 2025-11-25 alone, which has one; made up where it is not given.
   *
   * @throws TypeError (rejects) where `url` is none.
   */
  async elicitUrl(
    visit: { message: string; url: string; elicitationId?: string },
    options: AskOptions = {},
  ): Promise<ElicitAnswer<undefined>> {
    const { message, url } = visit;
    if (!URL.canParse(url)) throw new TypeError('elicitUrl: url is not a URL');
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
   * @throws TypeError (rejects) where the messages break the rules on tool uses and their results (client/sampling:
   * Message Content Constraints), and RpcError where `includeContext` needs `sampling.context` and the caller lacks it;
   * nothing is sent then.
   */
  async sample(params: SampleParams, options: AskOptions = {}): Promise<SampleResult> {
    checkSampling(params);
    this.#checkContext(params);
    const result = await this.exchange.ask(Method.CreateMessage, { ...params }, options);
    if (!isObject(result['content']) && !Array.isArray(result['content']))
      throw new RpcError(ErrorCode.InvalidParams, 'The caller answered sampling/createMessage without content');
    return result as SampleResult;
  }

  /**
   * Asks the caller for its roots (client/roots).
   *
   * @throws RpcError −32602 where the answer has none.
   */
  async roots(options: AskOptions = {}): Promise<Root[]> {
    const { roots } = await this.exchange.ask(Method.ListRoots, {}, options);
    if (!Array.isArray(roots))
      throw new RpcError(ErrorCode.InvalidParams, 'The caller answered roots/list without roots');
    return roots as Root[];
  }

  /**
   * Runs `make` once for this request, however often its handler is run anew for it, and gives what it made: a copy each
   * time. Runs at the same time are one; one that fails is forgotten. The value must be JSON (undefined is remembered as
   * undefined) and travels with the request, sealed: keep it small.
   *
   * @throws TypeError (rejects) where the value is no JSON; and what `make` throws.
   */
  once<T>(key: string, make: () => T | Promise<T>): Promise<T> {
    return once(this.exchange.notes, key, make) as Promise<T>;
  }

  /** The answers to what the handler asked by `inputRequired`, by the keys of its questions; none in the first run. */
  get inputResponses(): Readonly<Record<string, JsonObject>> {
    const responses: unknown = this.exchange.params['inputResponses'];
    return isObject(responses) ? responses : {};
  }

  /** The state that the handler gave to `inputRequired`, as it was; undefined in the first run. */
  get requestState(): string | undefined {
    const state: unknown = this.exchange.params['requestState'];
    return typeof state === 'string' ? state : undefined;
  }
}

/** @throws RpcError −32602 where an elicitation was answered with something else. */
function checkedAnswer(answer: JsonObject): JsonObject & Pick<ElicitResult, 'action'> {
  const { action } = answer;
  if (!ACTIONS.has(action)) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      'The answer to elicitation/create says none of accept, decline, cancel',
    );
  }
  return answer as JsonObject & Pick<ElicitResult, 'action'>;
}

/** What was filled in by someone who then refused is nobody's business. */
function withoutContent({ _meta }: JsonObject, action: 'decline' | 'cancel'): ElicitAnswer<never> {
  return _meta === undefined ? { action } : { action, _meta };
}
