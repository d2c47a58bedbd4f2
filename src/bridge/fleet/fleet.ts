import { inTurns } from '../../base/in-turns.ts';
import { quoting, shortJson, shortText } from '../../base/short-text.ts';
import { isAborted } from '../../core/base-exchange.ts';
import { derive } from '../../core/derive.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { certainlyNotExecuted } from '../../jsonrpc/error-chain.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CONNECTION_CLOSED } from '../../jsonrpc/pending.ts';
import { guarded } from '../../jsonrpc/stderr-report.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { isNotificationMethod, Method } from '../../protocol/methods.ts';
import type { Implementation } from '../../protocol/types.ts';
import { VERSION } from '../../version.ts';
import { replaceRelatedTask } from '../task-ids.ts';
import { describeTogether } from './description.ts';
import { FleetMeta, splitTaskId } from './ids.ts';
import { LISTS, PROMPTS, TOOLS } from './kinds.ts';
import { MergedListen } from './merged-listen.ts';
import { mergedList } from './lists.ts';
import { Members, type FleetMember, type FleetServer } from './members.ts';
import type { NameRules } from './names.ts';
import { renameNotice, renameResult, renamingFor } from './results.ts';
import { runListen } from './run-listen.ts';
import { Routes, type Route } from './routes.ts';
import { singleServer } from './single-server.ts';

/** The options of a fleet. */
export interface FleetOptions extends NameRules {
  /** The servers, in their order in lists. */
  readonly members: readonly FleetServer[];
  /** The fleet's own name and version. Default: `everwire`. */
  readonly serverInfo?: Implementation | undefined;
  /** Capabilities to declare in addition to those of the servers, for servers that are added later. Default: none. */
  readonly capabilities?: JsonObject | undefined;
  /** Milliseconds to wait for one server in a request to several. Default 10 000. */
  readonly timeout?: number | undefined;
  /**
   * Called once when a server stops responding, with its error, and again only after it has responded in between. Also called for
   * each kind of mistake in what a server lists, once in a minute. The text quotes the server, without control characters. Default: none.
   */
  readonly onwarning?: ((message: string, cause?: Error) => void) | undefined;
}

/** Many servers as one. */
export interface Fleet {
  /** All servers as one service. */
  readonly service: Service;
  /** The names of the servers, in order. */
  readonly names: readonly string[];
  /**
   * One server on its own, with its own names and its selected tools. After an update, this is the server that then has
   * the name: subscriptions continue with that one, and are notified that everything may have changed.
   */
  member(name: string): Service | undefined;
  /**
   * Replaces the servers. A server with the same service and tools stays as it is. Subscribers are notified that the
   * lists have changed.
   *
   * @param rules for names. Default: the current ones.
   * @throws TypeError or RangeError, as `createFleet` does. Nothing has changed then.
   */
  update(members: readonly FleetServer[], rules?: NameRules): void;
  /** Ends subscriptions and refuses further requests. Does not close the servers: their creator does. */
  close(): void;
}

/**
 * Combines several servers into one.
 *
 * @throws TypeError if the names of two servers have the same letters and digits, or a tool is renamed to a name that is
 *   taken. RangeError for a separator that is not allowed.
 */
export function createFleet(options: FleetOptions): Fleet {
  return new ServiceFleet(options);
}

/** Error codes for an unknown method. */
const NO_METHOD: ReadonlySet<number> = new Set([ErrorCode.MethodNotFound]);
/** Error codes for an unknown resource. */
const NO_RESOURCE: ReadonlySet<number> = new Set([
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
  McpErrorCode.ResourceNotFound,
]);

class ServiceFleet implements Fleet {
  readonly service: Service = (exchange) => this.#answer(exchange);
  readonly #members: Members;
  readonly #routes: Routes;
  readonly #listens = new Set<MergedListen>();
  readonly #serverInfo: Implementation;
  readonly #capabilities: JsonObject;
  #closed = false;

  constructor(options: FleetOptions) {
    const { members, serverInfo, capabilities = {}, timeout = 10_000, separator } = options;
    if (!(timeout > 0)) throw new RangeError('timeout must be a positive number of milliseconds');
    this.#serverInfo = serverInfo ?? { name: 'everwire', version: VERSION };
    this.#capabilities = capabilities;
    this.#members = new Members(members, { separator, timeout, onwarning: guarded(options.onwarning) });
    this.#routes = new Routes(this.#members);
  }

  get names(): readonly string[] {
    return [...this.#members].map(({ name }) => name);
  }

  member(name: string): Service | undefined {
    return this.#members.get(name) && singleServer(this.#members, name);
  }

  update(members: readonly FleetServer[], rules?: NameRules): void {
    if (!this.#members.update(members, rules)) return;
    void inTurns([...this.#listens], (listen) => listen.update());
  }

  close(): void {
    this.#closed = true;
    void inTurns(this.#listens, (listen) => listen.end());
  }

  async #answer(exchange: Exchange): Promise<JsonObject> {
    if (this.#closed) throw new RpcError(CONNECTION_CLOSED, 'The fleet is closed');
    const { method, params } = exchange;
    const list = LISTS.get(method);
    if (list) return mergedList(this.#members, this.#capabilities, list, exchange);
    switch (method) {
      case Method.CallTool:
        return this.#forward(exchange, await this.#routes.named(TOOLS, exchange));
      case Method.GetPrompt:
        return this.#forward(exchange, await this.#routes.named(PROMPTS, exchange));
      case Method.ReadResource:
        return this.#firstOf(exchange, this.#routes.resource(exchange), NO_RESOURCE);
      case Method.Complete:
        return this.#firstOf(exchange, await this.#routes.completion(exchange), NO_RESOURCE);
      case Method.Discover:
        return this.#discover(exchange);
      case Method.Listen:
        return runListen(this.#listens, new MergedListen(exchange, this.#members), exchange.signal);
      default:
        if (isNotificationMethod(method)) return this.#notifyAll(exchange);
        if (params['taskId'] !== undefined) return this.#forward(exchange, this.#routes.task(params));
        return this.#unknown(exchange);
    }
  }

  /** Sends the caller's request to one server. */
  async #forward(exchange: Exchange, { member, params }: Route): Promise<JsonObject> {
    const { method } = exchange;
    const [asked, own] = [exchange.params['uri'], params['uri']];
    const outward = renamingFor(member, this.#members.naming);
    // The result uses the same URI as the request.
    const renaming = { ...outward, uri: (uri: string) => (uri === own ? (asked as string) : outward.uri(uri)) };
    const child = derive(exchange, {
      params: replaceRelatedTask(params, (id) => ownTaskId(member, id)),
      notify: (notice, noticeParams) =>
        exchange.notify(notice, noticeParams && member.withName(notice, renameNotice(noticeParams, renaming))),
      ask: (question, questionParams, options) =>
        exchange.ask(question, replaceRelatedTask(questionParams, renaming.taskId), options),
    });
    const result = await member.service(child).catch((error: unknown) => {
      throw isNamed(method) ? withAskedName(error, exchange.params['name'], params['name']) : error;
    });
    member.answered();
    if (!isObject(result)) throw new RpcError(ErrorCode.InternalError, quoting`${method} returned no result`);
    return renameResult(result, method, renaming);
  }

  /**
   * Tries one server after another. It skips servers that do not have what the request names, and servers that
   * certainly did not get it. If the request may have run, no other server is tried.
   */
  async #firstOf(exchange: Exchange, routes: readonly Route[], notThere: ReadonlySet<number>): Promise<JsonObject> {
    let unreached: RpcError | undefined;
    let without: RpcError | undefined;
    for (const route of routes) {
      try {
        return await this.#forward(exchange, route);
      } catch (thrown) {
        const error = RpcError.from(thrown);
        if (isAborted(exchange)) throw error;
        if (certainlyNotExecuted(error)) unreached = error;
        else if (notThere.has(error.code)) without = error;
        else throw error;
      }
    }
    const failed = unreached ?? without;
    if (failed) throw failed;
    throw new RpcError(ErrorCode.MethodNotFound, quoting`Method not found: ${exchange.method}`);
  }

  async #discover(exchange: Exchange): Promise<JsonObject> {
    const described = await Promise.all(
      [...this.#members].map(async (member) => {
        const description = await member.describe(exchange);
        return { member, description: typeof description === 'string' ? undefined : description };
      }),
    );
    exchange.signal.throwIfAborted();
    return describeTogether(described, this.#members.naming, this.#capabilities, this.#serverInfo);
  }

  /** Sends the caller's general notifications to all servers, such as a change of its roots. */
  async #notifyAll(exchange: Exchange): Promise<JsonObject> {
    // Ignore servers that do not know the notification or are down.
    await Promise.allSettled([...this.#members].map((member) => member.service(exchange)));
    return {};
  }

  /**
   * A request of an extension goes to the server that its `_meta` or URI names, or else to the first server that has
   * the method.
   */
  async #unknown(exchange: Exchange): Promise<JsonObject> {
    const { params } = exchange;
    const { _meta: meta, uri } = params;
    const named: unknown = isObject(meta) ? meta[FleetMeta.Server] : undefined;
    if (named === undefined) {
      if (typeof uri === 'string') return this.#firstOf(exchange, this.#routes.resource(exchange), NO_RESOURCE);
      return this.#firstOf(exchange, this.#routes.everywhere(params), NO_METHOD);
    }
    const member: FleetMember | undefined = typeof named === 'string' ? this.#members.get(named) : undefined;
    if (member) return this.#forward(exchange, { member, params });
    throw new RpcError(ErrorCode.InvalidParams, `_meta names the server ${shortJson(named)}, which does not exist`);
  }
}

function isNamed(method: string): boolean {
  return method === Method.CallTool || method === Method.GetPrompt;
}

/** A server's refusal of parameters may contain the server's own name of a tool or prompt. The caller knows another one. */
function withAskedName(error: unknown, asked: unknown, own: unknown): unknown {
  if (!(error instanceof RpcError) || error.code !== ErrorCode.InvalidParams || asked === own) return error;
  const { code, data, origin } = error;
  return new RpcError(code, `${shortText(String(asked))}: ${error.message}`, { data, origin, cause: error });
}

function ownTaskId({ label }: FleetMember, taskId: string): string {
  const split = splitTaskId(taskId);
  return split?.label === label ? split.id : taskId;
}
