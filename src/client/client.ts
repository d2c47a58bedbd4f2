import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Middleware, Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import { isNotificationMethod, Meta, Method, NotificationMethod } from '../protocol/methods.ts';
import type { Revision } from '../protocol/revisions.ts';
import type {
  CallToolResult,
  DiscoverResult,
  GetPromptResult,
  Implementation,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  SubscriptionFilter,
  Tool,
} from '../protocol/types.ts';
import { complaint } from '../schema/complaint.ts';
import { checkContent, checkContents, checkMessages, checkValues, unlike } from './checked.ts';
import { InvalidResultError } from './errors.ts';
import type { Change } from './handlers.ts';
import { listAll, listEntries, LISTS } from './lists.ts';
import type { ListOptions, ReadOptions, RequestOptions, TaskOptions } from './options.ts';
import type { Requester } from './requester.ts';
import { openSubscription, type Subscription } from './subscription.ts';
import { TaskHandle } from './task.ts';

/** The result of a tool, with the type of its structured content. */
export type ToolResult<T = unknown> = Omit<CallToolResult, 'structuredContent'> & { structuredContent?: T };

/** How a tool is called. */
export interface CallToolOptions<T = unknown> extends RequestOptions, Pick<TaskOptions, 'onstatus'> {
  /** Checks the structured content and gives it a type. Any Standard Schema: Zod, Valibot, ArkType and others. */
  output?: StandardSchemaV1<unknown, T> | undefined;
  /** If the call becomes a task: returns the task at once instead of waiting for its result. Default false. */
  detach?: boolean | undefined;
}

/** The outcome of a call with `detach`: a task, or the result if the server made no task. */
export type DetachedCall<T = unknown> =
  | { readonly task: TaskHandle; readonly result?: undefined }
  | { readonly task?: undefined; readonly result: ToolResult<T> };

/** The prompt or template whose argument is completed (server/utilities/completion: Reference Types). */
export type CompletionReference = { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };

/** Suggested values for an argument. */
export interface Completion {
  /** At most 100. */
  values: string[];
  /** The total number of values, if known. */
  total?: number;
  hasMore?: boolean;
}

/**
 * A client of one server. The same methods work in every revision and over every transport.
 *
 * The client does not use capabilities that a handshake server did not declare: their lists are empty, and calls are
 * refused with −32601 before anything is sent (2025-11-25, basic/lifecycle: Operation). `request` sends any request.
 *
 * Every call settles within its time limits. It rejects with the server's own `RpcError`, unchanged; with a
 * `TimeoutError`; with a `ConnectionError`, which says why there is no connection; with an `InvalidResultError`; or
 * with the reason of the signal that cancelled it.
 */
export class Client {
  readonly #requester: Requester;

  /** @internal Use `connect`. */
  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /** The server as a function, with this client's middleware around it. Without the cache, and without the handlers. */
  readonly service: Service = (exchange) => this.#requester.service(exchange);

  /** The revision that the connection uses. */
  get revision(): Revision {
    return this.#requester.revision;
  }

  /** The server's description from the last time it was connected. */
  get discovered(): DiscoverResult {
    return this.#requester.link.upstream?.discovered ?? { supportedVersions: [], capabilities: {} };
  }

  /** The capabilities that the server declared. */
  get serverCapabilities(): JsonObject {
    return this.discovered.capabilities;
  }

  /** Name and version of the server. Undefined if it does not state them. Do not base decisions on them. */
  get serverInfo(): Implementation | undefined {
    const { _meta: meta } = this.discovered;
    return meta?.[Meta.ServerInfo];
  }

  /** How to use the server, for the model. */
  get instructions(): string | undefined {
    return this.discovered.instructions;
  }

  /** Whether calls are no longer possible: the client was closed, or lost a connection that cannot be made again. */
  get closed(): boolean {
    return !this.#requester.link.usable;
  }

  /**
   * Adds middleware around the service, inside the existing middleware. Open subscriptions keep the middleware that
   * they have.
   */
  use(...middleware: Middleware[]): this {
    this.#requester.use(...middleware);
    return this;
  }

  /** All tools. A server without tools has none. */
  listTools(options?: ListOptions): Promise<Tool[]> {
    return listAll(this.#requester, LISTS.tools, options);
  }

  /**
   * The tools one by one. Each page is requested when the previous one has been read. If the session of a handshake
   * server is lost between two pages, this rejects with a `ConnectionError`, because cursors are valid in one session
   * only. `listTools` starts again instead.
   */
  tools(options?: ListOptions): AsyncGenerator<Tool, void, undefined> {
    return listEntries(this.#requester, LISTS.tools, options);
  }

  /** All resources, without those of templates. */
  listResources(options?: ListOptions): Promise<Resource[]> {
    return listAll(this.#requester, LISTS.resources, options);
  }

  /** The resources one by one. */
  resources(options?: ListOptions): AsyncGenerator<Resource, void, undefined> {
    return listEntries(this.#requester, LISTS.resources, options);
  }

  /** All templates of resources. */
  listResourceTemplates(options?: ListOptions): Promise<ResourceTemplate[]> {
    return listAll(this.#requester, LISTS.resourceTemplates, options);
  }

  /** The templates one by one. */
  resourceTemplates(options?: ListOptions): AsyncGenerator<ResourceTemplate, void, undefined> {
    return listEntries(this.#requester, LISTS.resourceTemplates, options);
  }

  /** All prompts. */
  listPrompts(options?: ListOptions): Promise<Prompt[]> {
    return listAll(this.#requester, LISTS.prompts, options);
  }

  /** The prompts one by one. */
  prompts(options?: ListOptions): AsyncGenerator<Prompt, void, undefined> {
    return listEntries(this.#requester, LISTS.prompts, options);
  }

  /**
   * Calls a tool. The client's handlers answer the server's questions. If the call becomes a task, this waits for its
   * end, within `maxTimeout`; cancelling the call cancels the task. A failed tool does not reject: its result has
   * `isError`. Structured content is checked against the tool's output schema if a list has shown the schema.
   */
  callTool<T = unknown>(
    name: string,
    args: JsonObject | undefined,
    options: CallToolOptions<T> & { detach: true },
  ): Promise<DetachedCall<T>>;
  callTool<T = unknown>(
    name: string,
    args?: JsonObject,
    options?: CallToolOptions<T> & { detach?: false | undefined },
  ): Promise<ToolResult<T>>;
  async callTool(
    name: string,
    args: JsonObject = {},
    options: CallToolOptions = {},
  ): Promise<ToolResult | DetachedCall> {
    const started = performance.now();
    this.#needs('tools', Method.CallTool);
    const result = await this.#requester.request(Method.CallTool, { name, arguments: args }, options);
    const check = (final: JsonObject): Promise<ToolResult> => this.#checked(name, final, options.output);
    if (result['resultType'] !== 'task') {
      const checked = await check(result);
      return options.detach ? { result: checked } : checked;
    }
    if (typeof result['taskId'] !== 'string') throw new InvalidResultError('The server created a task without an id');
    const task = new TaskHandle(this.#requester, result['taskId'], result, check);
    return options.detach ? { task } : this.#awaited(task, options, started);
  }

  /** A handle for the task with this id. Another client may have started the task. */
  task(id: string): TaskHandle {
    return new TaskHandle(this.#requester, id);
  }

  /** Reads a resource. */
  async readResource(uri: string, options?: ReadOptions): Promise<ReadResourceResult> {
    this.#needs('resources', Method.ReadResource);
    const result = await this.#requester.request(Method.ReadResource, { uri }, options);
    checkContents(Method.ReadResource, result['contents']);
    return result as ReadResourceResult;
  }

  /** Gets a prompt with its arguments filled in. */
  async getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: RequestOptions,
  ): Promise<GetPromptResult> {
    this.#needs('prompts', Method.GetPrompt);
    const params = args === undefined ? { name } : { name, arguments: args };
    const result = await this.#requester.request(Method.GetPrompt, params, options);
    checkMessages(Method.GetPrompt, result['messages']);
    return result as GetPromptResult;
  }

  /**
   * Completes an argument of a prompt or of a template.
   *
   * @param context arguments that already have a value.
   */
  async complete(
    ref: CompletionReference,
    argument: { name: string; value: string },
    { context, ...options }: RequestOptions & { context?: Readonly<Record<string, string>> | undefined } = {},
  ): Promise<Completion> {
    this.#needs('completions', Method.Complete);
    const params: JsonObject = { ref, argument, ...(context && { context: { arguments: context } }) };
    const { completion } = await this.#requester.request(Method.Complete, params, options);
    if (!isObject(completion)) throw unlike(Method.Complete, 'values');
    checkValues(Method.Complete, completion['values']);
    return completion as Completion;
  }

  /**
   * Subscribes to changes: with a filter for lists and resources, or with the URI of one resource. Resolves when the
   * server has acknowledged the subscription.
   */
  subscribe(
    what: string | SubscriptionFilter,
    handler: (change: Change) => unknown,
    options?: Pick<RequestOptions, 'signal' | 'timeout'>,
  ): Promise<Subscription> {
    const filter = typeof what === 'string' ? { resourceSubscriptions: [what] } : what;
    return openSubscription(this.#requester, filter, handler, options);
  }

  /** Requests log messages of this level and above from now on. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.#requester.logLevel = level;
    await this.#requester.applyLogLevel();
  }

  /** Checks that the server responds. Rejects if it does not. */
  async ping(options?: RequestOptions): Promise<void> {
    // 2026-07-28 has no ping (changelog). `server/discover` does the same, if its cached result is not used.
    const method = this.#requester.era === 'legacy' ? Method.Ping : Method.Discover;
    await this.#requester.request(method, {}, { ...options, fresh: true });
  }

  /** Asks the server to describe itself. */
  async discover(options?: ReadOptions): Promise<DiscoverResult> {
    return (await this.#requester.request(Method.Discover, {}, options)) as DiscoverResult;
  }

  /** Sends any other request. Resolves with its unchanged result. */
  request(method: string, params: JsonObject = {}, options?: RequestOptions): Promise<JsonObject> {
    return this.#requester.request(method, params, options);
  }

  /**
   * Sends a notification to a handshake server. In 2026-07-28, clients have no notification to send: when a call is
   * cancelled, `notifications/cancelled` is sent automatically over stdio, and over HTTP the stream is closed instead
   * (basic/transports/streamable-http: Sending Messages). For such a server, notifications of older revisions are
   * skipped, and any other is refused.
   *
   * @throws TypeError (rejects) if the method is not a notification's; RpcError −32601 if the revision does not have
   * it.
   */
  async notify(method: string, params: JsonObject = {}): Promise<void> {
    if (!isNotificationMethod(method))
      throw new TypeError('The method of a notification must begin with notifications/');
    await this.#requester.notify(method, params);
  }

  /**
   * Tells the server that the answer of `onroots` has changed. From 2026-07-28 on, servers ask each time and are not
   * notified.
   */
  async rootsChanged(): Promise<void> {
    if (this.#requester.era === 'legacy' && this.#requester.options.onroots) {
      await this.#requester.notify(NotificationMethod.RootsListChanged, {});
    }
  }

  /**
   * Clears the cached results, for example after another user has logged in. With `authorizer`, this happens
   * automatically.
   */
  clearCache(): void {
    this.#requester.cache?.clear();
  }

  /**
   * Ends subscriptions and fails all calls with a `ConnectionError`. Resolves when the connection is closed and all
   * processes that were started have ended.
   */
  close(): Promise<void> {
    return this.#requester.close();
  }

  /** Does the same as `close`. `await using client = await connect(…)` closes the client at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #needs(capability: string, method: string): void {
    if (!this.#requester.link.lacks(capability)) return;
    throw new RpcError(
      ErrorCode.MethodNotFound,
      `${method} was not sent: the server did not declare the ${capability} capability`,
    );
  }

  async #awaited(task: TaskHandle, options: CallToolOptions, started: number): Promise<ToolResult> {
    const { maxTimeout } = this.#requester.limits(options);
    const left = maxTimeout > 0 ? Math.max(1, Math.ceil(started + maxTimeout - performance.now())) : 0;
    try {
      return await task.result({ signal: options.signal, maxTimeout: left, onstatus: options.onstatus });
    } catch (error) {
      if (!this.closed) task.cancel().catch(this.#requester.onerror);
      throw error;
    }
  }

  async #checked(name: string, given: JsonObject, output?: StandardSchemaV1): Promise<ToolResult> {
    const result: JsonObject = given['content'] === undefined ? { ...given, content: [] } : given;
    checkContent(Method.CallTool, result['content']);
    await this.#requester.outputs.check(name, result);
    if (!output || result['isError'] === true) return result as ToolResult;
    const checked = await output['~standard'].validate(result['structuredContent']);
    if (checked.issues) {
      throw new InvalidResultError(
        `The result of the tool ${name} does not match the requested schema: ${complaint(checked.issues)}`,
      );
    }
    return { ...result, structuredContent: checked.value } as ToolResult;
  }
}
