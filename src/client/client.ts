import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Middleware, Service } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import { isNotificationMethod, Meta, Method, Notice } from '../protocol/methods.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
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
import type { Upstream } from '../wire/upstream.ts';
import { checkContent, checkContents, checkMessages, checkValues, unlike } from './checked.ts';
import { ConnectionError, InvalidResultError, TimeoutError } from './errors.ts';
import type { Change } from './handlers.ts';
import type { ListOptions, ReadOptions, RequestOptions, TaskOptions } from './options.ts';
import { entriesOf, isInvalidCursor } from './pages.ts';
import type { Requester } from './requester.ts';
import { openSubscription, type Subscription } from './subscription.ts';
import { TaskHandle } from './task.ts';

/** Entries of a list that is read as a whole. */
const MAX_ENTRIES = 100_000;

/** What a tool returned, with the type of its structured content. */
export type ToolResult<T = unknown> = Omit<CallToolResult, 'structuredContent'> & { structuredContent?: T };

/** How a tool is called. */
export interface CallToolOptions<T = unknown> extends RequestOptions, Pick<TaskOptions, 'onstatus'> {
  /** Checks the structured content, and types it. Any Standard Schema: Zod, Valibot, ArkType and others. */
  output?: StandardSchemaV1<unknown, T> | undefined;
  /** Where the call becomes a task: returns at once with that, instead of waiting. Default false. */
  detach?: boolean | undefined;
}

/** What became of a call that was not waited for: a task, or the result, where the server made none. */
export type DetachedCall<T = unknown> =
  | { readonly task: TaskHandle; readonly result?: undefined }
  | { readonly task?: undefined; readonly result: ToolResult<T> };

/** What an argument is completed for (server/utilities/completion: Reference Types). */
export type CompletionReference = { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };

/** Values that an argument could have. */
export interface Completion {
  /** At most 100. */
  values: string[];
  /** How many there are in all, where that is known. */
  total?: number;
  hasMore?: boolean;
}

/**
 * A server, as whoever it is for sees it: the same calls whatever revision it speaks and however it is reached.
 *
 * What a handshake server has not declared is not asked of it: its lists are empty, and calls are refused with −32601
 * before anything is sent (2025-11-25, basic/lifecycle: Operation). `request` sends whatever it is given.
 *
 * Every call settles within its limits. It rejects with the server's own `RpcError` as it is; with a `TimeoutError`; with a
 * `ConnectionError`, which says why there is no connection; with an `InvalidResultError`; or with the reason of the signal
 * that gave it up.
 */
export class Client {
  readonly #requester: Requester;

  /** @internal Use `connect`. */
  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /** The server as a function, with this client's middleware around it. Without the cache, and without the handlers. */
  readonly service: Service = (exchange) => this.#requester.service(exchange);

  /** The revision that is spoken with the server. */
  get revision(): Revision {
    return this.#requester.revision;
  }

  /** What the server said of itself when it was connected to last. */
  get discovered(): DiscoverResult {
    return this.#requester.link.upstream?.discovered ?? { supportedVersions: [], capabilities: {} };
  }

  /** What the server can do, as it declared. */
  get serverCapabilities(): JsonObject {
    return this.discovered.capabilities;
  }

  /** Name and version of the server; undefined where it does not say. Nothing to decide by. */
  get serverInfo(): Implementation | undefined {
    const { _meta: meta } = this.discovered;
    return meta?.[Meta.ServerInfo];
  }

  /** How to use the server, for the model. */
  get instructions(): string | undefined {
    return this.discovered.instructions;
  }

  /** Whether no call can come through any more: the client was closed, or lost what cannot be connected to again. */
  get closed(): boolean {
    return !this.#requester.link.usable;
  }

  /** Puts middleware around the service, inside of what is there. Subscriptions that are open keep what they have. */
  use(...middleware: Middleware[]): this {
    this.#requester.use(...middleware);
    return this;
  }

  /** All tools. A server without tools has none. */
  listTools(options?: ListOptions): Promise<Tool[]> {
    return this.#all(Method.ListTools, 'tools', 'tools', options);
  }

  /**
   * The tools one by one: a page is asked for when the one before has been read. Where the session of a handshake server is
   * lost between two pages, it rejects with a `ConnectionError`, for cursors end with it; `listTools` begins anew.
   */
  tools(options?: ListOptions): AsyncGenerator<Tool, void, undefined> {
    return this.#entries(Method.ListTools, 'tools', 'tools', options);
  }

  /** All resources; those of templates are not in it. */
  listResources(options?: ListOptions): Promise<Resource[]> {
    return this.#all(Method.ListResources, 'resources', 'resources', options);
  }

  /** The resources one by one. */
  resources(options?: ListOptions): AsyncGenerator<Resource, void, undefined> {
    return this.#entries(Method.ListResources, 'resources', 'resources', options);
  }

  /** All templates of resources. */
  listResourceTemplates(options?: ListOptions): Promise<ResourceTemplate[]> {
    return this.#all(Method.ListResourceTemplates, 'resources', 'resourceTemplates', options);
  }

  /** The templates one by one. */
  resourceTemplates(options?: ListOptions): AsyncGenerator<ResourceTemplate, void, undefined> {
    return this.#entries(Method.ListResourceTemplates, 'resources', 'resourceTemplates', options);
  }

  /** All prompts. */
  listPrompts(options?: ListOptions): Promise<Prompt[]> {
    return this.#all(Method.ListPrompts, 'prompts', 'prompts', options);
  }

  /** The prompts one by one. */
  prompts(options?: ListOptions): AsyncGenerator<Prompt, void, undefined> {
    return this.#entries(Method.ListPrompts, 'prompts', 'prompts', options);
  }

  /**
   * Calls a tool. What the server asks on the way is answered by the client's handlers; where the call becomes a task, its
   * end is waited for, within `maxTimeout`, and giving up cancels the task. A tool that failed is no error: `isError` says
   * so. Structured content is checked against the tool's output schema where a list has shown it.
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
    const started = Date.now();
    this.#needs('tools', Method.CallTool);
    const result = await this.#requester.request(Method.CallTool, { name, arguments: args }, options);
    const check = (final: JsonObject): Promise<ToolResult> => this.#checked(name, final, options.output);
    if (result['resultType'] !== 'task') {
      const checked = await check(result);
      return options.detach ? { result: checked } : checked;
    }
    if (typeof result['taskId'] !== 'string') throw new InvalidResultError('The server made a task without an id');
    const task = new TaskHandle(this.#requester, result['taskId'], result, check);
    return options.detach ? { task } : this.#awaited(task, options, started);
  }

  /** The handle of a task, by the id that it was given: of another client, or of one that is gone. */
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
   * @param context arguments that are known already.
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
   * Hears of changes: of lists and resources by a filter, or of the resource with this URI. Resolves when the server has
   * agreed.
   */
  subscribe(
    what: string | SubscriptionFilter,
    handler: (change: Change) => void,
    options?: Pick<RequestOptions, 'signal' | 'timeout'>,
  ): Promise<Subscription> {
    const filter = typeof what === 'string' ? { resourceSubscriptions: [what] } : what;
    return openSubscription(this.#requester, filter, handler, options);
  }

  /** From now on, log messages of this level and of more severe ones are wanted. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.#requester.logLevel = level;
    await this.#requester.applyLogLevel();
  }

  /** Whether the server answers: rejects where it does not. */
  async ping(options?: RequestOptions): Promise<void> {
    // 2026-07-28 has no ping (changelog); what describes the server will do, where it is asked and not remembered.
    const method = this.#requester.era === 'legacy' ? Method.Ping : Method.Discover;
    await this.#requester.request(method, {}, { ...options, fresh: true });
  }

  /** Has the server describe itself. */
  async discover(options?: ReadOptions): Promise<DiscoverResult> {
    return (await this.#requester.request(Method.Discover, {}, options)) as DiscoverResult;
  }

  /** Makes any other request; resolves with its result as it is. */
  request(method: string, params: JsonObject = {}, options?: RequestOptions): Promise<JsonObject> {
    return this.#requester.request(method, params, options);
  }

  /**
   * Sends a notification to a handshake server. 2026-07-28 leaves clients none to send: `notifications/cancelled`, over stdio
   * only, goes out by itself when a call is given up, and over HTTP the end of the stream stands for it
   * (basic/transports/streamable-http: Sending Messages). To such a server those of older revisions are left out, as it needs
   * none of them, and any other is refused.
   *
   * @throws TypeError (rejects) where the method is none of a notification; RpcError −32601 where the revision has none such.
   */
  async notify(method: string, params: JsonObject = {}): Promise<void> {
    if (!isNotificationMethod(method)) throw new TypeError('The method of a notification begins with notifications/');
    await this.#requester.notify(method, params);
  }

  /** The answer of `onroots` has changed. From 2026-07-28 on servers ask each time, and need not be told. */
  async rootsChanged(): Promise<void> {
    if (this.#requester.era === 'legacy' && this.#requester.options.onroots) {
      await this.#requester.notify(Notice.RootsListChanged, {});
    }
  }

  /** Forgets what is kept of results, as when another person has logged in: of `authorizer` that is seen by itself. */
  clearCache(): void {
    this.#requester.cache?.clear();
  }

  /** Ends subscriptions and fails all calls with a `ConnectionError`; resolves when the connection is gone. */
  close(): Promise<void> {
    return this.#requester.close();
  }

  async #all<T>(method: string, capability: string, property: string, options: ListOptions = {}): Promise<T[]> {
    const { maxTimeout } = this.#requester.limits(options);
    const limited = { ...options, ...(maxTimeout > 0 && { deadline: Date.now() + maxTimeout }) };
    try {
      return await collect(method, this.#entries<T>(method, capability, property, limited));
    } catch (error) {
      if (error instanceof PlaceLost && this.#requester.link.usable) {
        return collect(method, this.#entries<T>(method, capability, property, limited));
      }
      if (!isInvalidCursor(error) || options.fresh) throw error;
      // A page that was kept may name a cursor that is good no more: all of it again, from the beginning (2026-07-28,
      // server/utilities/caching: Interaction with Pagination).
      if (!this.#requester.cache?.forget(method)) throw error;
      return collect(method, this.#entries<T>(method, capability, property, limited));
    }
  }

  async *#entries<T>(
    method: string,
    capability: string,
    property: string,
    { maxPages = 1000, deadline, ...options }: ListOptions & { readonly deadline?: number } = {},
  ): AsyncGenerator<T, void, undefined> {
    if (this.#lacks(capability)) return;
    const { link } = this.#requester;
    /** The session that the cursors are of. */
    let session: Upstream | undefined;
    /** What is left of the time for all pages. */
    const inTime = (): ReadOptions => {
      if (deadline === undefined) return options;
      const maxTimeout = deadline - Date.now();
      if (maxTimeout > 0) return { ...options, maxTimeout };
      const limit = this.#requester.limits(options).maxTimeout;
      throw new TimeoutError(`${method} was not read to its end within ${limit} ms`, limit);
    };
    const request = async (params: JsonObject): Promise<JsonObject> => {
      if (params['cursor'] === undefined) {
        const page = await this.#requester.request(method, params, inTime());
        if (this.#requester.era === 'legacy') session = link.upstream;
        return page;
      }
      try {
        if (session && link.current !== session) throw new PlaceLost(method);
        return await this.#requester.request(method, params, inTime());
      } catch (error) {
        throw session && error instanceof ConnectionError && !(error instanceof PlaceLost)
          ? new PlaceLost(method, { cause: error })
          : error;
      }
    };
    try {
      yield* entriesOf(method, property, request, maxPages) as AsyncGenerator<T, void, undefined>;
    } catch (error) {
      // A server without handshakes may have got since what it did not declare, and is asked. If it has not, there is nothing.
      const unknown = error instanceof RpcError && error.code === ErrorCode.MethodNotFound;
      if (!unknown || isObject(this.serverCapabilities[capability])) throw error;
    }
  }

  /** Whether the server that is connected has shaken hands without declaring something that its revision knows. */
  #lacks(capability: string): boolean {
    const { current } = this.#requester.link;
    if (!current) return false;
    const { era, unknown } = REVISIONS[current.revision];
    if (era === 'modern' || unknown.properties.ServerCapabilities?.includes(capability)) return false;
    return !isObject(current.discovered.capabilities[capability]);
  }

  #needs(capability: string, method: string): void {
    if (!this.#lacks(capability)) return;
    throw new RpcError(
      ErrorCode.MethodNotFound,
      `${method} was not sent: the server did not declare the ${capability} capability`,
    );
  }

  async #awaited(task: TaskHandle, options: CallToolOptions, started: number): Promise<ToolResult> {
    const { maxTimeout } = this.#requester.limits(options);
    const left = maxTimeout > 0 ? Math.max(1, started + maxTimeout - Date.now()) : 0;
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
    const verdict = await output['~standard'].validate(result['structuredContent']);
    if (verdict.issues) {
      const { refuse } = await import('./output-schema.ts');
      return refuse(name, 'is not as asked', verdict.issues);
    }
    return { ...result, structuredContent: verdict.value } as ToolResult;
  }
}

/** Cursors are good in their session alone (2025-11-25, server/utilities/pagination: Implementation Guidelines). */
class PlaceLost extends ConnectionError {
  constructor(method: string, options?: ErrorOptions) {
    super(
      `The connection was lost between two pages of ${method}: the list has to be read from its beginning`,
      options,
    );
  }
}

/** @throws InvalidResultError where there are more entries than a list may have that is kept as a whole. */
async function collect<T>(method: string, entries: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const entry of entries) {
    if (all.length === MAX_ENTRIES) {
      throw new InvalidResultError(`${method} has more than ${MAX_ENTRIES} entries: read them one by one`);
    }
    all.push(entry);
  }
  return all;
}
