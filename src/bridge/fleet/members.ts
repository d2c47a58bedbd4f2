import type { Exchange, Service } from '../../core/exchange.ts';
import { invoke } from '../../core/invoke.ts';
import { ErrorCode, isReceived, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import { Method, Notice } from '../../protocol/methods.ts';
import { checkHeaders } from '../header-check.ts';
import type { ListKind } from './kinds.ts';
import { labelOf, Naming, type NameRules } from './names.ts';
import { PartExchange } from './part.ts';
import { selectTools, type ToolSelection } from './selection.ts';

/** A server of a fleet. */
export interface FleetServer {
  /** What it is called in the names of what it has, in logs and in instructions. */
  readonly name: string;
  readonly service: Service;
  /** Which of its tools are shown, and how. Default: all, as they are. */
  readonly tools?: ToolSelection | undefined;
}

/** Milliseconds that one that is known to be down is waited for. */
export const SHORT_PATIENCE = 2000;
/** Of one server, the same is not warned of more often than this. Milliseconds. */
const WARN_AGAIN_AFTER = 60_000;

/** One server, and what is known of it. */
export class FleetMember {
  readonly name: string;
  readonly label: string;
  readonly source: FleetServer;
  /** With the tools that are shown. */
  readonly service: Service;
  /** It did not answer when it was last asked. */
  down = false;
  readonly #gone = new AbortController();
  /** What it listed last, and to whom: to them names stay what they were while it is down. */
  readonly listed = new Map<ListKind, { readonly ids: ReadonlySet<string>; readonly principal: string | undefined }>();
  /** When a list of it was not answered at all, by what it is of: it counts as down for that list, until it is answered. */
  readonly failedAt = new Map<ListKind, number>();
  /** The lists that are being read again, though nobody waits for that. */
  readonly retrying = new Set<ListKind>();
  lastWarning: { readonly text: string; readonly at: number } | undefined;

  constructor(source: FleetServer) {
    this.name = source.name;
    this.label = labelOf(source.name);
    this.source = source;
    // Each by its own names: those of the fleet are not the same for all callers.
    const service = selectTools(source.tools ?? {})(checkHeaders(source.service));
    this.service = (exchange) => invoke(service, exchange);
  }

  /** Fires when another has taken its place, or none has. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  leave(): void {
    this.#gone.abort(new Error(`The server ${JSON.stringify(this.name)} is not here any more`));
  }
}

export interface MembersOptions extends NameRules {
  /** Milliseconds that one server is waited for where others answer, too. */
  readonly timeout: number;
  readonly onwarning: (message: string) => void;
}

/** The servers of a fleet, in order. */
export class Members {
  naming: Naming;
  /** Grows where the servers or the rules for their names are others, for those who made something of them. */
  version = 0;
  /** Told when servers came, went, or came back: lists are others now. */
  onchange: (() => void) | undefined;
  readonly #options: MembersOptions;
  #rules: NameRules;
  #all = new Map<string, FleetMember>();
  #labels = new Map<string, FleetMember>();

  constructor(members: readonly FleetServer[], options: MembersOptions) {
    this.#options = options;
    this.#rules = options;
    this.naming = new Naming([], options);
    this.update(members);
  }

  [Symbol.iterator](): IterableIterator<FleetMember> {
    return this.#all.values();
  }

  get size(): number {
    return this.#all.size;
  }

  get(name: string): FleetMember | undefined {
    return this.#all.get(name);
  }

  /** Whether it is one of them still. */
  has(member: FleetMember): boolean {
    return this.#all.get(member.name) === member;
  }

  withLabel(label: string): FleetMember | undefined {
    return this.#labels.get(label);
  }

  /**
   * Takes these instead of those so far; one that is the same stays what it is.
   *
   * @param rules for names. Default: those so far.
   * @returns whether anything has changed.
   * @throws TypeError where two have the same name, RangeError for a separator that cannot be; nothing has changed then.
   */
  update(members: readonly FleetServer[], rules = this.#rules): boolean {
    const all = new Map<string, FleetMember>();
    for (const source of members) {
      if (typeof source.name !== 'string' || source.name === '')
        throw new TypeError('a member of a fleet needs a name');
      if (all.has(source.name)) throw new TypeError(`two members of a fleet are called ${JSON.stringify(source.name)}`);
      const known = this.#all.get(source.name);
      all.set(source.name, known && isSame(known.source, source) ? known : new FleetMember(source));
    }
    const naming = new Naming(all.keys(), rules);
    const before = [...this.#all.values()];
    const same = all.size === before.length && [...all.values()].every((member, index) => before[index] === member);
    const changed = !same || naming.always !== this.naming.always || naming.separator !== this.naming.separator;
    this.#all = all;
    this.#rules = rules;
    this.#labels = new Map([...all.values()].map((member) => [member.label, member]));
    this.naming = naming;
    this.version += 1;
    for (const member of before) if (all.get(member.name) !== member) member.leave();
    return changed;
  }

  /** Milliseconds that a server is waited for that is there. */
  get timeout(): number {
    return this.#options.timeout;
  }

  /** Milliseconds that a server is waited for: for a list, where one is named. */
  patience(member: FleetMember, kind?: ListKind): number {
    const isDown = member.down || (kind !== undefined && member.failedAt.has(kind));
    return isDown ? Math.min(SHORT_PATIENCE, this.timeout) : this.timeout;
  }

  /** A server did not answer, or not with what it was asked for. It is told once, until it answers again. */
  failed(member: FleetMember, method: string, error: Error): void {
    // Who refuses is there.
    const answered = isReceived(error);
    const known = !answered && member.down;
    if (!answered) member.down = true;
    if (!known) this.#warnOf(member, `${answered ? 'refuses' : 'does not answer'} ${method}: ${error.message}`);
  }

  /**
   * A server did not give a list, though it may do all else: it is down for that list alone. It is told once, until the list
   * is answered.
   */
  listFailed(member: FleetMember, kind: ListKind, error: Error): void {
    const known = member.down || member.failedAt.has(kind);
    member.failedAt.set(kind, performance.now());
    if (!known) this.#warnOf(member, `does not answer ${kind.method}: ${error.message}`);
  }

  /** A server has given a list, or a part of it. Where it had not before, lists are others now. */
  listAnswered(member: FleetMember, kind: ListKind): void {
    const back = member.failedAt.delete(kind);
    if (member.down) this.answered(member);
    else if (back && this.has(member)) this.onchange?.();
  }

  /** A server has given a part of a list, and then no more. */
  fellShort(member: FleetMember, method: string, error: Error): void {
    this.#warnOf(member, `gave only a part of ${method}: ${error.message}`);
  }

  #warnOf(member: FleetMember, what: string): void {
    const text = `the server ${JSON.stringify(member.name)} ${what}`;
    const { lastWarning } = member;
    if (lastWarning?.text === text && Date.now() - lastWarning.at < WARN_AGAIN_AFTER) return;
    if (!this.has(member)) return;
    member.lastWarning = { text, at: Date.now() };
    this.warn(text);
  }

  /** A server has answered. Where it had not before, lists are others now. */
  answered(member: FleetMember): void {
    if (!member.down) return;
    member.down = false;
    if (this.has(member)) this.onchange?.();
  }

  warn(text: string): void {
    this.#options.onwarning(text);
  }

  /**
   * Asks a server something in the course of a request, and waits for so long.
   *
   * @throws RpcError as the server has it; −32001 where it takes too long.
   */
  async ask(
    member: FleetMember,
    whole: Exchange,
    method: string,
    params: JsonObject,
    patience: number,
  ): Promise<JsonObject> {
    const part = partOf(member, whole, method, params);
    const { signal } = whole;
    const giveUp = (): void => part.abort(signal.reason as Error);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const expire = (): void => {
        const error = new RpcError(REQUEST_TIMEOUT, `no answer within ${patience} ms`);
        part.abort(error);
        reject(error);
      };
      timer = setTimeout(expire, patience);
      part.signal.addEventListener('abort', () => reject(part.signal.reason as Error));
    });
    try {
      return await Promise.race([member.service(part), late]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /**
   * Lets a server describe itself, however long that takes.
   *
   * @throws RpcError as the server has it.
   */
  async describe(member: FleetMember, whole: Exchange): Promise<JsonObject> {
    const description = await member.service(partOf(member, whole, Method.Discover, {}));
    if (!isObject(description)) throw new RpcError(ErrorCode.InternalError, 'it describes no server');
    return description;
  }
}

function partOf(member: FleetMember, whole: Exchange, method: string, params: JsonObject): PartExchange {
  return new PartExchange(whole, method, params, (notice, said) =>
    whole.notify(notice, said && signed(member, notice, said)),
  );
}

/** Whether a server did not answer when it was last asked, for anything or for this list. */
export function isSilent(member: FleetMember, kind: ListKind): boolean {
  return member.down || member.failedAt.has(kind);
}

/** Those that answered when they were last asked, for anything and for this list. */
export function awakeOf(members: readonly FleetMember[], kind: ListKind): readonly FleetMember[] {
  return members.some((member) => isSilent(member, kind))
    ? members.filter((member) => !isSilent(member, kind))
    : members;
}

/** What a server says, with the server's name before that of its logger. */
export function signed({ name }: FleetMember, method: string, params: JsonObject): JsonObject {
  if (method !== Notice.Message) return params;
  const { logger } = params;
  return { ...params, logger: typeof logger === 'string' ? `${name}/${logger}` : name };
}

function isSame(one: FleetServer, other: FleetServer): boolean {
  return one.service === other.service && JSON.stringify(one.tools ?? {}) === JSON.stringify(other.tools ?? {});
}
