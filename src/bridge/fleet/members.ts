import type { Exchange, Service } from '../../core/exchange.ts';
import { invoke } from '../../core/invoke.ts';
import { isFromPeer } from '../../jsonrpc/error-chain.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import { printableMessage } from '../../base/printable.ts';
import { shortText, shortJson } from '../../base/short-text.ts';
import { Recent } from '../../base/recent.ts';
import { waitFor } from '../../base/wait.ts';
import { checkHeaders } from '../header-check.ts';
import { ChildExchange } from './child-exchange.ts';
import { Missing, type MissingReason } from './missing.ts';
import { labelOf, Naming, type NamedServer, type NameRules } from './names.ts';
import { selectTools } from './selection.ts';

/** A server of a fleet. Its name appears in the names of its tools and prompts, in logs and in instructions. */
export interface FleetServer extends NamedServer {
  readonly service: Service;
}

/** Milliseconds to wait for a server that did not respond last time. */
const SHORT_TIMEOUT = 2000;
/** Milliseconds before the same warning about a server is repeated. */
const WARN_AGAIN_AFTER = 60_000;
/** How many warnings about a server are remembered for this. */
const MAX_WARNINGS = 100;
/** How many shortened names are remembered for one server. Others are looked up in the server's list each time. */
const MAX_SHORTENED = 20_000;
/** The longest full name that is remembered, in characters. */
const MAX_REMEMBERED = 512;

export interface MemberOptions {
  /** Milliseconds to wait for one server in a request to several. */
  readonly timeout: number;
  readonly onwarning: (message: string, cause?: Error) => void;
}

/** One server and its state. */
export class FleetMember {
  readonly name: string;
  readonly label: string;
  readonly source: FleetServer;
  /** The service with only the selected tools. */
  readonly service: Service;
  /** Whether the server did not respond to the last request. */
  down = false;
  readonly #options: MemberOptions;
  /** When each warning was last reported, in the time of `performance.now()`. */
  readonly #warned = new Recent<number>(MAX_WARNINGS);
  readonly #gone = new AbortController();
  readonly #ownNames = new Map<string, string>();

  constructor(source: FleetServer, options: MemberOptions) {
    this.name = source.name;
    this.label = labelOf(source.name);
    this.source = source;
    this.#options = options;
    const select = selectTools(source.tools ?? {}, (hidden, renamed) => {
      const [tool, other] = [hidden, renamed].map((name) => shortJson(name));
      this.warn(`does not show its tool ${tool}, because ${other} is renamed to ${tool}`);
    });
    const service = select(checkHeaders(source.service));
    this.service = (exchange) => invoke(service, exchange);
  }

  /** Fires when the server is replaced or removed. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  leave(): void {
    this.#gone.abort(new Error(`The server ${JSON.stringify(this.name)} was removed`));
  }

  /** How long to wait for the server now, in milliseconds. */
  get timeout(): number {
    const { timeout } = this.#options;
    return this.down ? Math.min(SHORT_TIMEOUT, timeout) : timeout;
  }

  /** Called when the server has completed a request. */
  answered(): void {
    this.down = false;
  }

  /**
   * Called when the server did not respond, or refused. If it does not respond, this warns once, and again only after
   * it has responded in between.
   */
  failed(method: string, error: Error): MissingReason {
    const refused = isFromPeer(error);
    const what = `${refused ? 'refuses' : 'does not answer'} ${shortText(method)}`;
    if (!this.down || refused) this.warn(`${what}: ${error.message}`, what, error);
    if (refused) return Missing.Refused;
    this.down = true;
    return Missing.NoResponse;
  }

  /**
   * Warns, but not again within a minute about the same kind.
   *
   * @param kind without words that the server chooses, or it could write any number of warnings.
   */
  warn(what: string, kind = what, cause?: Error): void {
    const now = performance.now();
    if (now - (this.#warned.get(kind) ?? -Infinity) < WARN_AGAIN_AFTER) return;
    if (this.gone.aborted) return;
    this.#warned.add(kind, now);
    this.#options.onwarning(printableMessage(`the server ${JSON.stringify(this.name)} ${what}`), cause);
  }

  /**
   * Sends the server a request on behalf of another request, with a time limit in milliseconds.
   *
   * @throws the server's RpcError; −32001 if it takes too long.
   */
  async ask(parent: Exchange, method: string, params: JsonObject, timeout: number): Promise<JsonObject> {
    const child = this.#childOf(parent, method, params);
    try {
      return await inTime(this.service(child), parent, timeout);
    } catch (error) {
      child.abort(error as Error);
      throw error;
    }
  }

  /**
   * Asks the server to describe itself.
   *
   * @returns a reason if it refuses or does not respond in time.
   */
  async describe(parent: Exchange, timeout = this.timeout): Promise<JsonObject | MissingReason> {
    try {
      const description = await this.ask(parent, Method.Discover, {}, timeout);
      if (isObject(description)) return description;
      throw new RpcError(ErrorCode.InternalError, 'the response to server/discover is invalid');
    } catch (error) {
      if (parent.signal.aborted) return Missing.NoResponse;
      return this.failed(Method.Discover, RpcError.from(error));
    }
  }

  /** Converts a notification of the server: in log messages, its name is put before the logger's. */
  withName(method: string, params: JsonObject): JsonObject {
    if (method !== NotificationMethod.Message) return params;
    const { logger } = params;
    return { ...params, logger: typeof logger === 'string' ? `${this.name}/${logger}` : this.name };
  }

  /** The full name for a shortened one, if the server's lists have shown it. */
  ownName(shortened: string): string | undefined {
    return this.#ownNames.get(shortened);
  }

  /** A shortened name depends only on the server's own name, so all callers share one map. */
  remember(shortened: string, own: string): void {
    if (own.length <= MAX_REMEMBERED && this.#ownNames.size < MAX_SHORTENED) this.#ownNames.set(shortened, own);
  }

  #childOf(parent: Exchange, method: string, params: JsonObject): ChildExchange {
    return new ChildExchange(parent, method, params, (notice, noticeParams) =>
      parent.notify(notice, noticeParams && this.withName(notice, noticeParams)),
    );
  }
}

function inTime<T>(answer: Promise<T>, { signal }: Exchange, timeout: number): Promise<T> {
  const timeoutError = (): RpcError => new RpcError(REQUEST_TIMEOUT, `no answer within ${timeout} ms`);
  return waitFor(answer, { signal, timeout, timeoutError });
}

/** The servers of a fleet, in order. */
export class Members {
  naming: Naming;
  readonly #options: MemberOptions;
  #rules: NameRules;
  #all = new Map<string, FleetMember>();
  #labels = new Map<string, FleetMember>();

  /** @throws as `Naming`. */
  constructor(servers: readonly FleetServer[], options: MemberOptions & NameRules) {
    this.#options = options;
    this.#rules = options;
    this.naming = new Naming([], options);
    this.update(servers);
  }

  [Symbol.iterator](): IterableIterator<FleetMember> {
    return this.#all.values();
  }

  get(name: string): FleetMember | undefined {
    return this.#all.get(name);
  }

  withLabel(label: string): FleetMember | undefined {
    return this.#labels.get(label);
  }

  /**
   * Replaces the servers. An unchanged server keeps its state.
   *
   * @param rules for names. Default: the current ones.
   * @returns whether anything has changed.
   * @throws as `Naming` does. Nothing has changed then.
   */
  update(servers: readonly FleetServer[], rules = this.#rules): boolean {
    this.naming = new Naming(servers, rules);
    const all = new Map<string, FleetMember>();
    for (const source of servers) {
      const known = this.#all.get(source.name);
      all.set(source.name, known && isSame(known.source, source) ? known : new FleetMember(source, this.#options));
    }
    const before = [...this.#all.values()];
    const same = all.size === before.length && [...all.values()].every((member, index) => before[index] === member);
    const changed = !same || rules.separator !== this.#rules.separator;
    this.#all = all;
    this.#rules = rules;
    this.#labels = new Map([...all.values()].map((member) => [member.label, member]));
    for (const member of before) if (all.get(member.name) !== member) member.leave();
    return changed;
  }
}

function isSame(one: FleetServer, other: FleetServer): boolean {
  return one.service === other.service && JSON.stringify(one.tools ?? {}) === JSON.stringify(other.tools ?? {});
}
