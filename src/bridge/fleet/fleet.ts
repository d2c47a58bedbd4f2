import { isAborted } from '../../core/base-exchange.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { certainlyNotRun } from '../../jsonrpc/causes.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { isNotificationMethod, Method } from '../../protocol/methods.ts';
import type { Implementation } from '../../protocol/types.ts';
import { VERSION } from '../../version.ts';
import { alone } from './alone.ts';
import { describeTogether } from './description.ts';
import { LISTS, PROMPTS, TOOLS, type ListKind } from './kinds.ts';
import { MergedLists } from './lists.ts';
import { Listening } from './listening.ts';
import { Members, signed, type FleetServer, type FleetMember } from './members.ts';
import { FleetMeta } from './meta.ts';
import type { NameRules } from './names.ts';
import { PassedExchange } from './part.ts';
import { hasUris, renameMeta, renameNotice, renameResult, type Renaming } from './results.ts';
import { Routes, type Route } from './routes.ts';
import { splitTaskId, stateOf, taskIdOf, unknownTask } from './tasks.ts';
import type { View } from './view.ts';
import { Views } from './views.ts';

/** What a fleet is made of. */
export interface FleetOptions extends NameRules {
  /** The servers, in the order in which lists have them. */
  readonly members: readonly FleetServer[];
  /** Who answers. Default: `everwire`. */
  readonly serverInfo?: Implementation | undefined;
  /** Capabilities to declare beside those of the servers: of servers to come. Default: none. */
  readonly capabilities?: JsonObject | undefined;
  /** Milliseconds that one server is waited for where others answer, too. Default 10 000. */
  readonly timeout?: number | undefined;
  /** Told of servers that do not answer, each once until it answers again. Default: nobody. */
  readonly onwarning?: ((message: string) => void) | undefined;
}

/** Many servers as one. */
export interface Fleet {
  /** All of them, to be served as any service is. */
  readonly service: Service;
  /** The names of the servers, in order. */
  readonly names: readonly string[];
  /**
   * One of them by itself, with its own names, and those of its tools that are shown. After an update it is the one that has
   * the name then; who listens goes on with that, and is told that all may have changed.
   */
  member(name: string): Service | undefined;
  /**
   * Takes these servers instead of those so far. One whose service and tools are the same goes on undisturbed. Whoever
   * listens is told that the lists have changed.
   *
   * @param rules for names. Default: those so far.
   * @throws TypeError where two have the same name, RangeError for a separator that cannot be; nothing has changed then.
   */
  update(members: readonly FleetServer[], rules?: NameRules): void;
  /** Ends what listens, and refuses further requests. The servers are left to who made them. */
  close(): void;
}

/** Makes one server of many. @throws TypeError where two have the same name, RangeError for a separator that cannot be. */
export function createFleet(options: FleetOptions): Fleet {
  return new ServiceFleet(options);
}

/** Errors by which a server says that it does not know what it is asked for. */
const NOT_MINE: ReadonlySet<number> = new Set([
  ErrorCode.InvalidParams,
  ErrorCode.MethodNotFound,
  McpErrorCode.ResourceNotFound,
]);

class ServiceFleet implements Fleet {
  readonly service: Service = (exchange) => this.#answer(exchange);
  readonly #members: Members;
  readonly #views: Views;
  readonly #lists: MergedLists;
  readonly #routes: Routes;
  readonly #listening: Listening;
  readonly #serverInfo: Implementation;
  readonly #capabilities: JsonObject;
  #closed = false;

  constructor(options: FleetOptions) {
    const { members, serverInfo, capabilities = {}, timeout = 10_000, onwarning = () => {} } = options;
    const { names, separator } = options;
    if (!(timeout > 0)) throw new RangeError('timeout must be a positive number of milliseconds');
    this.#serverInfo = serverInfo ?? { name: 'everwire', version: VERSION };
    this.#capabilities = capabilities;
    this.#members = new Members(members, { names, separator, timeout, onwarning });
    this.#views = new Views(this.#members);
    this.#lists = new MergedLists(this.#members, capabilities);
    this.#routes = new Routes(this.#members);
    this.#listening = new Listening({
      members: this.#members,
      views: this.#views,
      routes: this.#routes,
      timeout,
      renaming: (member, view) => this.#renaming(member, view),
    });
    this.#members.onchange = () => this.#listening.changed();
  }

  get names(): readonly string[] {
    return [...this.#members].map(({ name }) => name);
  }

  member(name: string): Service | undefined {
    return this.#members.get(name) && alone(this.#members, name);
  }

  update(members: readonly FleetServer[], rules?: NameRules): void {
    if (!this.#members.update(members, rules)) return;
    this.#views.update();
    this.#listening.update();
  }

  close(): void {
    this.#closed = true;
    this.#listening.close();
    this.#views.clear();
  }

  #answer(exchange: Exchange): Promise<JsonObject> {
    if (this.#closed) return Promise.reject(new RpcError(CONNECTION_CLOSED, 'The fleet is closed'));
    const { method, params } = exchange;
    const view = this.#views.of(exchange);
    const kind = LISTS.get(method);
    if (kind) return this.#lists.list(kind, exchange, view);
    switch (method) {
      case Method.CallTool:
        return this.#named(TOOLS, exchange, view);
      case Method.GetPrompt:
        return this.#named(PROMPTS, exchange, view);
      case Method.ReadResource:
        return this.#routes.resource(exchange, view).then((routes) => this.#try(exchange, view, routes));
      case Method.Complete:
        return this.#routes.completion(exchange, view).then((routes) => this.#try(exchange, view, routes));
      case Method.Discover:
        return this.#discover(exchange, view);
      case Method.Listen:
        return this.#listening.listen(exchange);
      default:
        if (isNotificationMethod(method)) return this.#tellAll(exchange);
        if (params['taskId'] !== undefined) return this.#task(exchange, view);
        return this.#unknown(exchange, view);
    }
  }

  #named(kind: ListKind, exchange: Exchange, view: View): Promise<JsonObject> {
    const known = this.#routes.known(kind, exchange, view);
    if (known) return this.#forward(exchange, view, known);
    return this.#routes.named(kind, exchange, view).then((route) => this.#forward(exchange, view, route));
  }

  /** Asks one server what the caller asks. */
  async #forward(exchange: Exchange, view: View, { member, params }: Route): Promise<JsonObject> {
    const renaming = this.#renaming(member, view);
    const asked = new PassedExchange(exchange, {
      params: renameMeta(params, inwardTaskId(member)),
      outward: (method, said) => signed(member, method, renameNotice(said, renaming)),
      question: (question) => renameMeta(question, renaming.taskId),
    });
    const result = await member.service(asked);
    this.#members.answered(member);
    if (!isObject(result)) throw new RpcError(ErrorCode.InternalError, `${exchange.method} gave no result`);
    if (hasUris(result)) view.readUris(exchange);
    return renameResult(result, exchange.method, renaming);
  }

  /** Asks one server after the other, until one knows what it is asked for. */
  async #try(exchange: Exchange, view: View, routes: readonly Route[]): Promise<JsonObject> {
    for (const route of routes.slice(0, -1)) {
      try {
        return await this.#forward(exchange, view, route);
      } catch (error) {
        if (!NOT_MINE.has(RpcError.from(error).code)) throw error;
      }
    }
    return this.#forward(exchange, view, routes.at(-1)!);
  }

  #renaming(member: FleetMember, view: View): Renaming {
    return {
      uri: (uri) => view.outwardUri(member, uri),
      taskId: (id) => taskIdOf(member.label, id),
      state: (state) => stateOf(member.label, state),
    };
  }

  async #discover(exchange: Exchange, view: View): Promise<JsonObject> {
    const told = await Promise.all(
      [...this.#members].map(async (member) => ({
        name: member.name,
        description: await view.capabilities.describe(member, exchange),
      })),
    );
    exchange.signal.throwIfAborted();
    return describeTogether(told, this.#capabilities, this.#serverInfo);
  }

  /** Tells all servers what the caller says to none of them: that its roots have changed, or what nobody here knows. */
  async #tellAll(exchange: Exchange): Promise<JsonObject> {
    const members = [...this.#members];
    const told = await Promise.allSettled(members.map((member) => member.service(exchange)));
    for (const [index, outcome] of told.entries()) {
      if (outcome.status === 'fulfilled') continue;
      const error = RpcError.from(outcome.reason);
      // Any other says that it does not know the notification.
      if (error.code === CONNECTION_CLOSED) this.#members.failed(members[index]!, exchange.method, error);
    }
    return {};
  }

  async #task(exchange: Exchange, view: View): Promise<JsonObject> {
    const route = this.#routes.task(exchange.params);
    if (route) return this.#forward(exchange, view, route);
    // What leads nowhere is shown to no server: one may have a task of that very id.
    await view.capabilities.describeAll(exchange);
    throw unknownTask(exchange, view.capabilities.tasks());
  }

  /**
   * What nobody here knows goes to the server that the request names. Where it names none, the servers are asked one after
   * the other, until one may have done it: not one that says −32601, nor one that it certainly did not reach.
   */
  async #unknown(exchange: Exchange, view: View): Promise<JsonObject> {
    const { method, params } = exchange;
    const { _meta: meta, uri } = params;
    const named: unknown = isObject(meta) ? meta[FleetMeta.Server] : undefined;
    if (named !== undefined) {
      const member = typeof named === 'string' ? this.#members.get(named) : undefined;
      if (member) return this.#forward(exchange, view, { member, params });
      throw new RpcError(ErrorCode.InvalidParams, `There is no server ${JSON.stringify(named)}, which _meta names`);
    }
    const routes = typeof uri === 'string' ? await this.#routes.resource(exchange, view) : this.#everywhere(params);
    let silent: RpcError | undefined;
    for (const route of routes) {
      try {
        return await this.#forward(exchange, view, route);
      } catch (thrown) {
        const error = RpcError.from(thrown);
        if (isAborted(exchange)) throw error;
        if (certainlyNotRun(error)) silent = error;
        else if (error.code !== ErrorCode.MethodNotFound) throw error;
      }
    }
    throw silent ?? new RpcError(ErrorCode.MethodNotFound, `Method not found: ${method}`);
  }

  /** All servers, those last that did not answer when they were last asked. */
  #everywhere(params: JsonObject): Route[] {
    const isSilent = ({ down, failedAt }: FleetMember): boolean => down || failedAt.size > 0;
    return [...this.#members]
      .toSorted((one, other) => Number(isSilent(one)) - Number(isSilent(other)))
      .map((member) => ({ member, params }));
  }
}

function inwardTaskId({ label }: FleetMember): (id: string) => string {
  return (taskId) => {
    const split = splitTaskId(taskId);
    return split?.label === label ? split.id : taskId;
  };
}
