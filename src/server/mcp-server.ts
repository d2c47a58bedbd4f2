import type { ServerResponse } from 'node:http';
import { compose, type Caller, type Exchange, type Middleware, type Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { Refusal } from '../core/refusal.ts';
import { reportTo, stderrReport } from '../jsonrpc/stderr-report.ts';
import { isObject, type JsonObject, type Request as RpcRequest } from '../jsonrpc/message.ts';
import { isNotificationMethod, Meta, Method } from '../protocol/methods.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS, REVISIONS } from '../protocol/revisions.ts';
import { TASKS_EXTENSION } from '../protocol/tasks.ts';
import type { AuthInfo, Implementation } from '../protocol/types.ts';
import type { HttpListener, ListenOptions } from '../transport/http/server/listen.ts';
import type { NodeRequest } from '../transport/http/server/node.ts';
import type { StdioServerOptions } from '../transport/stdio/server.ts';
import type { Transport } from '../transport/transport.ts';
import { checkStateKey } from '../base/state-key.ts';
import type { InboundOptions } from '../wire/serve.ts';
import { cacheHints, type CacheHints } from './cache-hints.ts';
import { checkEntry, checkServerOptions, checkUri } from './checks.ts';
import { complete, type Completers } from './completion.ts';
import { errorsForCallers, type ErrorsForCallers } from './handler-errors.ts';
import { MAX_NAMES } from '../protocol/subscriptions.ts';
import { KINDS, Listeners, type ListKind } from './listeners.ts';
import { Prompts, type PromptArguments, type PromptConfig, type PromptHandler } from './prompts.ts';
import { compact, type Registered } from './registry.ts';
import {
  Resources,
  type ResourceConfig,
  type ResourceHandler,
  type TemplateConfig,
  type TemplateHandler,
} from './resources.ts';
import type { AnySchema, NoShape, ToolNames } from './schema.ts';
import { Serving, type HttpServerOptions } from './serving.ts';
import { LazyTasks } from './lazy-tasks.ts';
import type { TasksOptions } from './task-rules.ts';
import { Tools, type ToolConfig, type NoBareContent, type ToolHandler } from './tools.ts';

/** The description of a server, and how it is served. */
export interface McpServerOptions
  extends
    Implementation,
    Pick<
      InboundOptions,
      | 'eras'
      | 'askTimeout'
      | 'maxAskTimeout'
      | 'stateKey'
      | 'maxSuspended'
      | 'maxSuspendedPerPrincipal'
      | 'maxSubscriptions'
      | 'maxSubscriptionsPerPrincipal'
    > {
  /** How to use the server, for the model. */
  instructions?: string | undefined;
  /** The most entries on one page of a list. Default 1000. */
  pageSize?: number | undefined;
  /**
   * Capabilities to declare in addition to the registered ones: for tools that are registered later, or experimental
   * ones.
   */
  capabilities?: JsonObject | undefined;
  /**
   * How long callers may cache the lists and the server's description, and who may share them (2026-07-28,
   * server/utilities/caching). `resources` also applies to templates. Default: no caching.
   */
  cache?: Partial<Record<ListKind | 'discover', CacheHints>> | undefined;
  /** How tasks are stored, for tools with `ToolConfig.task`. Default: in the `state` of `http`, else in this process. */
  tasks?: TasksOptions | undefined;
  /** How HTTP is served, by `listen`, `fetch` and `node`. */
  http?: HttpServerOptions | undefined;
  /**
   * For development: sends the message of every handler and middleware error to the caller. Otherwise callers see only
   * the messages of `UserError` and `RpcError`, because other messages may contain paths, addresses or queries. Default
   * false.
   */
  exposeErrors?: boolean | undefined;
  /**
   * Called with every error that no caller sees. The `cause` is the handler's own error. Default: writes errors to
   * stderr, at most 20 in 10 seconds, and then the number of further ones.
   */
  onerror?: ((error: Error) => void) | undefined;
}

/**
 * An MCP server: a registry of tools, resources and prompts. The same code serves every revision of the protocol.
 * Entries can be added, changed and removed while it runs; subscribed callers are notified.
 */
export class McpServer {
  /** The server as a function. Any number of transports may use it at once. */
  readonly service: Service = (exchange) =>
    invoke(this.#entrance, exchange).catch((thrown: unknown) => {
      // A notification has no response. The side that serves it reports the error.
      throw isNotificationMethod(exchange.method) ? thrown : this.#errorFor(thrown, exchange.method, exchange);
    });

  readonly #info: Implementation;
  readonly #instructions: string | undefined;
  readonly #capabilities: JsonObject;
  readonly #discoverHints: JsonObject;
  readonly #errorFor: ErrorsForCallers;
  readonly #listeners: Listeners;
  readonly #tasks: LazyTasks;
  readonly #tools: Tools;
  readonly #resources: Resources;
  readonly #prompts: Prompts;
  readonly #middleware: Middleware[] = [];
  readonly #serving: Serving;
  readonly #answered: Service = (exchange) => invoke(this.#answer, exchange);
  #entrance: Service = this.#answered;

  /** @throws TypeError or RangeError if an option is invalid or looks misspelt. */
  constructor(options: McpServerOptions) {
    checkServerOptions(options);
    checkStateKey(options.stateKey);
    const {
      instructions,
      pageSize = 1000,
      capabilities = {},
      cache = {},
      tasks = {},
      http = {},
      exposeErrors = false,
      onerror: report = stderrReport(),
      ...others
    } = options;
    const { eras, askTimeout, maxAskTimeout, stateKey, ...rest } = others;
    const onerror = reportTo(report);
    const { maxSuspended, maxSuspendedPerPrincipal, maxSubscriptions, maxSubscriptionsPerPrincipal, ...info } = rest;
    if (!Number.isInteger(pageSize) || pageSize < 1) throw new RangeError('pageSize must be a positive integer');
    this.#info = compact(info) as Implementation;
    this.#instructions = instructions;
    this.#capabilities = capabilities;
    this.#discoverHints = cacheHints(cache.discover ?? {}, 'server/discover');
    this.#errorFor = errorsForCallers(exposeErrors, onerror);
    this.#listeners = new Listeners(info.name, onerror);
    this.#tasks = new LazyTasks((Tasks) => new Tasks(this.#tasks.options(tasks), this.#listeners.taskChanged, onerror));
    const registry = (kind: ListKind) => ({
      pageSize,
      cache: cache[kind],
      changed: () => this.#listeners.changed(kind),
    });
    this.#tools = new Tools(registry('tools'), onerror, this.#errorFor, this.#tasks);
    this.#resources = new Resources(registry('resources'));
    this.#prompts = new Prompts(registry('prompts'));
    const bounds = { maxSuspended, maxSuspendedPerPrincipal, maxSubscriptions, maxSubscriptionsPerPrincipal };
    this.#serving = new Serving(this.service, {
      inbound: {
        onerror,
        eras,
        askTimeout,
        maxAskTimeout,
        ...bounds,
        stateKey,
        serverInfo: this.#info,
        safeToRerun: (request) => this.#safeToRerun(request),
      },
      http: { scopesFor: (request) => this.#scopesFor(request), ...http },
      keepTasks: (state) => this.#tasks.keepIn(state),
      shareChanges: ({ bus }) => this.#listeners.share(bus),
    });
  }

  /**
   * Registers a tool.
   *
   * @throws TypeError if the name, config or handler is missing, or a schema cannot be used. Error if the name is
   * taken.
   */
  tool<
    const I extends AnySchema | undefined = undefined,
    const O extends AnySchema | undefined = undefined,
    H extends ToolHandler<I, O> = ToolHandler<I, O>,
  >(
    name: string,
    config: ToolConfig<I, O> & { input?: NoShape<I>; output?: NoShape<O> } & ToolNames,
    handler: H & NoBareContent<Awaited<ReturnType<H>>, O>,
  ): Registered<ToolConfig> {
    checkEntry('tool', name, config, handler);
    return this.#tools.add(name, config, handler);
  }

  /** Registers a resource. @throws TypeError if the URI, config or handler is missing. Error if the URI is taken. */
  resource(
    uri: string,
    config: ResourceConfig | 'Write the URI before the name: resource(uri, { name }, handler)',
    handler: ResourceHandler,
  ): Registered<ResourceConfig> {
    checkEntry('resource', uri, config, handler);
    checkUri(uri);
    return this.#resources.add(uri, config as ResourceConfig, handler);
  }

  /**
   * Registers the resources of a URI template. `UriTemplate` describes the supported templates.
   *
   * @throws TypeError if the template cannot be used, or the config or handler is missing. Error if it is already
   * registered.
   */
  resourceTemplate<const T extends string>(
    uriTemplate: T,
    config: TemplateConfig<T>,
    handler: TemplateHandler<T>,
  ): Registered<TemplateConfig<T>> {
    checkEntry('resourceTemplate', uriTemplate, config, handler);
    return this.#resources.addTemplate(uriTemplate, config, handler as TemplateHandler<string>);
  }

  /** Registers a prompt. @throws TypeError if the name, config or handler is missing. Error if the name is taken. */
  prompt<const A extends PromptArguments>(
    name: string,
    config: PromptConfig<A> & {
      /** @deprecated Write `arguments`. */ argsSchema?: 'Write arguments: { name: { description, required } }';
    },
    handler: PromptHandler<A>,
  ): Registered<PromptConfig> {
    checkEntry('prompt', name, config, handler);
    return this.#prompts.add(name, config, handler);
  }

  /** Notifies the callers that subscribed to this resource, at all processes that share a state with a bus. */
  resourceUpdated(uri: string): void {
    this.#listeners.updated(uri);
  }

  /**
   * Notifies the callers that listen for changes of a list. Needed if what `list` of a resource template returns has
   * changed, or if middleware changes a list. Registrations notify by themselves.
   *
   * @throws TypeError if there is no such list.
   */
  listChanged(kind: ListKind): void {
    if (!KINDS.includes(kind)) throw new TypeError(`there is no list ${JSON.stringify(kind)}: use ${KINDS.join(', ')}`);
    this.#listeners.changed(kind);
  }

  /** Adds middleware around the service. The first one added is the outermost. */
  use(...middleware: Middleware[]): this {
    this.#middleware.push(...middleware);
    this.#entrance = compose(this.#answered, ...this.#middleware);
    return this;
  }

  /** Serves one connection. Resolves when it is started. @throws the errors of the transport's `start`. */
  connect(transport: Transport): Promise<void> {
    return this.#serving.connect(transport);
  }

  /**
   * Serves this process's stdin and stdout. Resolves when stdin has ended and every request is answered. If the server
   * is then not served in another way, it is closed and its tasks end, because no client could reach them.
   */
  async stdio(options: StdioServerOptions = {}): Promise<void> {
    await this.#serving.stdio(options);
    if (!this.#serving.open) await this.close();
  }

  /**
   * Serves HTTP on its own address. Resolves when it is listening.
   *
   * @param options override the server's `http` options.
   * @throws Error if it cannot listen.
   */
  listen(
    options: HttpServerOptions & Pick<ListenOptions, 'host' | 'port' | 'tls' | 'wiretap' | 'onerror'> = {},
  ): Promise<HttpListener> {
    return this.#serving.listen(options);
  }

  /**
   * Answers one web-standard request, on any path. Mount it in Hono, Next, Workers, Deno or Bun. For a public host
   * name, allow the name: `http: { allowedHosts: ['mcp.example.com'] }`.
   *
   * @param context the caller, if earlier middleware has authenticated it. Any other value that a runtime passes is
   * ignored.
   */
  readonly fetch = (request: Request, context?: { readonly authInfo?: AuthInfo | undefined }): Promise<Response> =>
    this.#serving.fetch(request, context);

  /**
   * Answers one request of `node:http`, on any path. Mount it in Express, Fastify or a plain server. If a framework has
   * parsed the body, it is read from `request.body`. A connection may have 100 unanswered requests. The next one is
   * answered with 503 and closes the connection. For public host names, see `fetch`.
   */
  readonly node = (request: NodeRequest, response: ServerResponse): void => this.#serving.node(request, response);

  /**
   * Stops the server for good. It refuses new requests, ends subscriptions, lets running requests finish, and closes
   * sessions, connections and listeners. The signals of running tasks fire; tasks that do not end in time fail.
   *
   * @param timeout milliseconds to wait before the rest is ended. Default 5 000.
   */
  async close(timeout = 5000): Promise<void> {
    await Promise.all([this.#tasks.close(timeout), this.#serving.close(timeout)]);
  }

  readonly #answer = (exchange: Exchange): JsonObject | Promise<JsonObject> => {
    const kind = LISTED[exchange.method];
    // Without the capability, this method does not exist.
    if (kind !== undefined && !this.#has(kind)) throw Refusal.method(exchange.method);
    switch (exchange.method) {
      case Method.CallTool:
        return this.#tools.call(exchange);
      case Method.ListTools:
        return this.#tools.registry.page(exchange.params['cursor']);
      case Method.ReadResource:
        return this.#resources.read(exchange);
      case Method.ListResources:
        return this.#resources.list(exchange);
      case Method.ListResourceTemplates:
        return this.#resources.templates.page(exchange.params['cursor']);
      case Method.GetPrompt:
        return this.#prompts.get(exchange);
      case Method.ListPrompts:
        return this.#prompts.registry.page(exchange.params['cursor']);
      case Method.Complete:
        // Without the capability, this method does not exist (2025-11-25, server/utilities/completion: Error Handling).
        if (!this.#completes()) throw Refusal.method(exchange.method);
        return complete(exchange, (type, name) => this.#completers(type, name, exchange.caller));
      case Method.Discover:
        return this.#discover(exchange);
      case Method.Listen:
        return this.#listen(exchange);
      case Method.GetTask:
        return this.#task('get', exchange);
      case Method.UpdateTask:
        return this.#task('update', exchange);
      case Method.CancelTask:
        return this.#task('cancel', exchange);
      default:
        if (isNotificationMethod(exchange.method)) return {};
        throw Refusal.method(exchange.method);
    }
  };

  async #task(method: 'get' | 'update' | 'cancel', exchange: Exchange): Promise<JsonObject> {
    if (!this.#hasTasks(exchange)) throw Refusal.method(exchange.method);
    return (await this.#tasks.load())[method](exchange);
  }

  /** 2026-07-28, server/discover. */
  #discover(exchange: Exchange): JsonObject {
    const capabilities: JsonObject = { logging: {} };
    const lists = this.#lists();
    if (lists.has('tools')) capabilities['tools'] = { listChanged: true };
    if (lists.has('prompts')) capabilities['prompts'] = { listChanged: true };
    if (lists.has('resources')) capabilities['resources'] = { subscribe: true, listChanged: true };
    if (this.#completes()) capabilities['completions'] = {};
    Object.assign(capabilities, this.#capabilities);
    if (this.#hasTasks(exchange)) {
      capabilities['extensions'] = { ...capabilities['extensions'], [TASKS_EXTENSION]: {} };
    }
    const result: JsonObject = {
      supportedVersions: [...MODERN_REVISIONS, ...LEGACY_REVISIONS],
      capabilities,
      _meta: { [Meta.ServerInfo]: this.#info },
      ...this.#discoverHints,
    };
    if (this.#instructions !== undefined) result['instructions'] = this.#instructions;
    return result;
  }

  /** Only callers that may read a resource may learn that it has changed. */
  #listen(exchange: Exchange): Promise<JsonObject> {
    const { params, caller } = exchange;
    for (const uri of urisIn(params)) this.#resources.authorize(uri, caller);
    return this.#listeners.listen(exchange, this.#lists(), this.#hasTasks(exchange) ? this.#tasks : undefined);
  }

  /** Whether a request may run again from the start: read-only requests may, and tools that allow it. */
  #safeToRerun({ method, params }: Pick<Exchange, 'method' | 'params'>): boolean {
    if (method !== Method.CallTool) return true;
    return this.#tools.safeToRerun(params['name']);
  }

  /** The scopes that a caller needs for a request. */
  #scopesFor({ method, params = {} }: RpcRequest): readonly string[] {
    switch (method) {
      case Method.CallTool:
        return this.#tools.registry.scopesOf(params['name']);
      case Method.GetPrompt:
        return this.#prompts.registry.scopesOf(params['name']);
      case Method.ReadResource:
      case Method.Subscribe:
        return this.#resources.scopesOf(params['uri']);
      case Method.Listen:
        return urisIn(params).flatMap((uri) => this.#resources.scopesOf(uri));
      case Method.Complete: {
        const ref: JsonObject = isObject(params['ref']) ? params['ref'] : {};
        if (ref['type'] === 'ref/prompt') return this.#prompts.registry.scopesOf(ref['name']);
        return this.#resources.templates.scopesOf(ref['uri']);
      }
      default:
        return [];
    }
  }

  /**
   * Whether this server has tools that run as tasks, and the caller's revision knows such tasks. Earlier revisions have
   * a different kind of tasks.
   */
  #hasTasks({ caller }: Exchange): boolean {
    return this.#tasks.used && REVISIONS[caller.revision].era === 'modern';
  }

  /** The lists that this server has, or declares for later. */
  #lists(): ReadonlySet<ListKind> {
    return new Set(KINDS.filter((kind) => this.#has(kind)));
  }

  #has(kind: ListKind): boolean {
    if (this.#capabilities[kind]) return true;
    if (kind === 'tools') return this.#tools.registry.used;
    if (kind === 'prompts') return this.#prompts.registry.used;
    return this.#resources.fixed.used || this.#resources.templates.used;
  }

  #completes(): boolean {
    if (this.#capabilities['completions']) return true;
    for (const { completers } of this.#prompts.registry.entries()) if (completers.size > 0) return true;
    for (const { completers } of this.#resources.templates.entries()) if (completers.size > 0) return true;
    return false;
  }

  /** @throws RpcError if the caller lacks a scope that the prompt or the template needs. */
  #completers(type: unknown, name: unknown, caller: Caller): Completers | undefined {
    if (typeof name !== 'string') return undefined;
    if (type === 'ref/prompt') {
      this.#prompts.registry.authorize(name, caller);
      return this.#prompts.registry.get(name)?.completers;
    }
    if (type !== 'ref/resource') return undefined;
    this.#resources.templates.authorize(name, caller);
    const template = this.#resources.templates.get(name);
    return template?.completers ?? (this.#resources.fixed.get(name) && NO_COMPLETERS);
  }
}

const NO_COMPLETERS: Completers = new Map();
/** The list methods, by kind. */
const LISTED: Readonly<Record<string, ListKind | undefined>> = Object.assign(Object.create(null), {
  [Method.ListTools]: 'tools',
  [Method.ListPrompts]: 'prompts',
  [Method.ListResources]: 'resources',
  [Method.ListResourceTemplates]: 'resources',
});

/** The resources that a `subscriptions/listen` names. A filter that is too long is refused elsewhere. */
function urisIn({ notifications }: JsonObject): readonly string[] {
  const uris: unknown = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
  return Array.isArray(uris) ? uris.slice(0, MAX_NAMES) : [];
}
