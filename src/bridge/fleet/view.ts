import { abortReason, isAborted, offAbort, onAbort } from '../../core/base-exchange.ts';
import type { Exchange } from '../../core/exchange.ts';
import { isReceived, RpcError } from '../../jsonrpc/errors.ts';
import { REQUEST_TIMEOUT } from '../../jsonrpc/pending.ts';
import { backgroundListExchange } from '../../wire/background-list.ts';
import { Capabilities } from './capabilities.ts';
import { RESOURCES, TEMPLATES, type ListKind } from './kinds.ts';
import { awakeOf, isSilent, type FleetMember, type Members } from './members.ts';
import { NameTable } from './names.ts';
import { isSame } from './same.ts';
import { UriTable, wrapUri, type ResourceIds } from './uris.ts';
import { walk } from './walk.ts';

/** A server that did not answer is asked again after this time, and one whose list lacks a name. Milliseconds. */
const ASK_AGAIN_AFTER = 5000;
const NONE: ReadonlySet<string> = new Set();

interface Catalog {
  readonly ids: ReadonlySet<string>;
  /** How many of these nobody else keeps. */
  readonly weight: number;
  /** When it was read. */
  readonly at: number;
}

/** Lists that are being read. */
interface Loading {
  readonly over: Promise<void>;
  readonly since: number;
}

/**
 * What one caller is shown of the servers' names and URIs: those of one session, or of one principal where there are none.
 * Servers need not show the same to everybody. No more than the names is kept.
 */
export class View {
  readonly capabilities: Capabilities;
  readonly #members: Members;
  readonly #principal: string | undefined;
  readonly #catalogs = new Map<ListKind, Map<FleetMember, Catalog>>();
  readonly #loading = new Map<ListKind, Loading>();
  /** When a server refused this caller a list. */
  readonly #refusedAt = new Map<ListKind, Map<FleetMember, number>>();
  readonly #names = new Map<ListKind, NameTable>();
  #uris: UriTable | undefined;
  /** Of the capabilities, when the tables were made. */
  #version = -1;
  /** Names and URIs that it keeps to itself. */
  weight = 0;
  /** Grows with each use of any view. */
  lastUse = 0;

  constructor(members: Members, principal: string | undefined) {
    this.capabilities = new Capabilities(members);
    this.#members = members;
    this.#principal = principal;
  }

  /** What the servers' names are outside, as far as their lists have been read; see `load`. */
  names(kind: ListKind): NameTable {
    this.#renew();
    let table = this.#names.get(kind);
    if (!table) {
      const names = [...this.#known(kind)].map(([member, ids]) => [member.name, ids] as const);
      this.#names.set(kind, (table = new NameTable(this.#members.naming, new Map(names))));
    }
    return table;
  }

  /** Whose URIs are whose, as far as the lists have been read; see `load`. */
  uris(): UriTable {
    this.#renew();
    if (this.#uris) return this.#uris;
    const labels = new Map<string, string>();
    const ids = new Map<string, ResourceIds>();
    const [uris, templates] = [this.#known(RESOURCES), this.#known(TEMPLATES)];
    for (const member of this.capabilities.having('resources')) {
      labels.set(member.name, member.label);
      const listed = { uris: uris.get(member) ?? NONE, templates: templates.get(member) ?? NONE };
      if (listed.uris !== NONE || listed.templates !== NONE) ids.set(member.name, listed);
    }
    return (this.#uris = new UriTable(labels, ids));
  }

  /** Whether there is nothing to be gained from `load`. */
  isLoaded(kind: ListKind): boolean {
    const catalogs = this.#catalogs.get(kind);
    return (
      catalogs !== undefined &&
      this.capabilities.having(kind.capability).every((member) => catalogs.has(member) || isSilent(member, kind))
    );
  }

  /** Reads the lists that have not been read, of all servers at once. Never fails: what does not answer has what it had. */
  async load(kind: ListKind, exchange: Exchange, members = this.capabilities.having(kind.capability)): Promise<void> {
    const loading = this.#loading.get(kind);
    if (loading) await loading.over;
    const missing = members.filter((member) => this.#isDue(kind, member));
    if (missing.length === 0) return;
    const over = Promise.all(missing.map((member) => this.#load(kind, member, exchange))).then(() => {});
    const load = { over, since: performance.now() };
    this.#loading.set(kind, load);
    try {
      await over;
    } finally {
      if (this.#loading.get(kind) === load) this.#loading.delete(kind);
    }
  }

  /**
   * As `load`, but it goes on, for others, when its caller does not wait any more.
   *
   * @param patience milliseconds to wait, from when the lists began to be read. Default: until all have been read.
   * @returns whether all have.
   * @throws the reason where the request is given up.
   */
  async await(
    kind: ListKind,
    exchange: Exchange,
    members: readonly FleetMember[],
    patience = Infinity,
  ): Promise<boolean> {
    const since = this.#loading.get(kind)?.since ?? performance.now();
    const loaded = this.load(kind, aside(exchange), members).then(() => true);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let cancel = (): void => {};
    const enough = new Promise<boolean>((resolve, reject) => {
      cancel = () => reject(abortReason(exchange));
      onAbort(exchange, cancel);
      if (isAborted(exchange)) cancel();
      const rest = Math.max(0, since + patience - performance.now());
      if (Number.isFinite(rest)) timer = setTimeout(resolve, rest, false);
    });
    try {
      return await Promise.race([loaded, enough]);
    } finally {
      clearTimeout(timer);
      offAbort(exchange, cancel);
    }
  }

  /** Reads the lists of resources and templates, where more than one server has such. One that is down is not waited for. */
  async loadUris(exchange: Exchange): Promise<UriTable> {
    const members = this.capabilities.having('resources');
    if (members.length > 1) {
      await Promise.all(
        [RESOURCES, TEMPLATES].map((kind) => {
          for (const member of members) if (this.#isDue(kind, member)) this.#retry(kind, member, exchange);
          return this.load(kind, exchange, awakeOf(members, kind));
        }),
      );
    }
    return this.uris();
  }

  /**
   * What the URI of a server's resource is outside, as far as that is known at once: where it is not certain that it leads
   * back by itself, it names its server.
   */
  outwardUri({ name, label }: FleetMember, uri: string): string {
    return this.#knowsUris() ? this.uris().outward(name, uri) : wrapUri(label, uri);
  }

  /** Sees to it that more is known of URIs the next time, in the name of a caller who neither waits for that nor hears of it. */
  readUris(exchange: Exchange): void {
    if (this.#knowsUris()) return;
    // Of what cannot be read is warned.
    this.loadUris(aside(exchange)).catch(() => {});
  }

  /** Takes note of what a server lists. */
  learn(kind: ListKind, member: FleetMember, ids: ReadonlySet<string>): void {
    if (!this.#members.has(member)) return;
    const catalogs = this.#of(kind);
    const before = catalogs.get(member);
    // Most callers are shown the same, and it is kept once.
    const known = member.listed.get(kind)?.ids;
    const same = known !== undefined && isSame(known, ids);
    const own = same ? known : ids;
    member.listed.set(kind, { ids: own, principal: this.#principal });
    const weight = same ? 0 : ids.size;
    this.weight += weight - (before?.weight ?? 0);
    catalogs.set(member, { ids: own, weight, at: performance.now() });
    if (before?.ids !== own) this.#outdated(kind);
  }

  /** Takes note of more that a server lists, where its list has been read. */
  add(kind: ListKind, member: FleetMember, ids: readonly string[]): void {
    const known = this.#of(kind).get(member)?.ids;
    if (known && ids.some((id) => !known.has(id))) this.learn(kind, member, new Set([...known, ...ids]));
  }

  /** The servers are others now: what they list is read anew, and of those that went nothing is kept. */
  update(): void {
    this.capabilities.update();
    this.#catalogs.clear();
    this.#refusedAt.clear();
    this.weight = 0;
    this.#names.clear();
    this.#uris = undefined;
  }

  /** A server's list has changed. */
  forget(kind: ListKind, member: FleetMember): void {
    const catalog = this.#of(kind).get(member);
    if (!catalog) return;
    this.weight -= catalog.weight;
    this.#of(kind).delete(member);
    this.#outdated(kind);
  }

  /** A server has given a list, or a part of it. */
  answered(kind: ListKind, member: FleetMember): void {
    this.#refusedAt.get(kind)?.delete(member);
    this.#members.listAnswered(member, kind);
  }

  /** A server has not given a list. Where it was waited for the short time only, it is given more, with nobody waiting. */
  failed(kind: ListKind, member: FleetMember, exchange: Exchange, thrown: unknown): void {
    if (!this.#members.has(member)) return;
    const error = RpcError.from(thrown);
    // What it refuses one caller it may give to another.
    if (isReceived(thrown)) {
      const refused = this.#refusedAt.get(kind) ?? new Map<FleetMember, number>();
      this.#refusedAt.set(kind, refused.set(member, performance.now()));
      return this.#members.failed(member, kind.method, error);
    }
    const short = member.failedAt.has(kind) && error.code === REQUEST_TIMEOUT;
    this.#members.listFailed(member, kind, error);
    if (short) this.#retry(kind, member, exchange);
  }

  /** A name was not found: lists that were not just read are read again. Returns whether there are any. */
  doubt(kind: ListKind): boolean {
    let any = false;
    for (const [member, { at }] of this.#of(kind)) {
      if (performance.now() - at < ASK_AGAIN_AFTER) continue;
      this.forget(kind, member);
      any = true;
    }
    return any;
  }

  /** The lists of one kind by server; of one that did not answer, what it listed last to the same principal. */
  #known(kind: ListKind): Map<FleetMember, ReadonlySet<string>> {
    const known = new Map<FleetMember, ReadonlySet<string>>();
    for (const member of this.#members) {
      const last = member.listed.get(kind);
      const before = last?.principal === this.#principal ? last?.ids : undefined;
      const ids = this.#catalogs.get(kind)?.get(member)?.ids ?? before;
      if (ids) known.set(member, ids);
    }
    return known;
  }

  /** Whether all servers that may have resources have listed them, but for those that do not answer, or refuse. */
  #knowsUris(): boolean {
    const members = this.capabilities.having('resources');
    if (members.length < 2) return true;
    const isSettled = (kind: ListKind, member: FleetMember): boolean =>
      this.#catalogs.get(kind)?.has(member) === true ||
      member.down ||
      member.failedAt.has(kind) ||
      this.#refusedAt.get(kind)?.has(member) === true;
    return members.every((member) => isSettled(RESOURCES, member) && isSettled(TEMPLATES, member));
  }

  #renew(): void {
    const { version } = this.capabilities;
    if (this.#version === version) return;
    this.#version = version;
    this.#names.clear();
    this.#uris = undefined;
  }

  #isDue(kind: ListKind, member: FleetMember): boolean {
    if (this.#of(kind).has(member)) return false;
    const failed = member.failedAt.get(kind) ?? this.#refusedAt.get(kind)?.get(member);
    return failed === undefined || performance.now() - failed >= ASK_AGAIN_AFTER;
  }

  /** Reads a list again that was not answered, in the name of a caller who neither waits for that nor hears of it. */
  #retry(kind: ListKind, member: FleetMember, exchange: Exchange): void {
    if (!member.failedAt.has(kind) || member.retrying.has(kind)) return;
    member.retrying.add(kind);
    // It never fails.
    void this.#load(kind, member, aside(exchange), this.#members.timeout).then(() => member.retrying.delete(kind));
  }

  async #load(kind: ListKind, member: FleetMember, exchange: Exchange, wait?: number): Promise<void> {
    try {
      const { ids } = await walk(this.#members, member, kind, exchange, 0, true, wait);
      this.learn(kind, member, ids!);
      this.answered(kind, member);
    } catch (error) {
      if (exchange.signal.aborted) return;
      this.failed(kind, member, exchange, error);
    }
  }

  #of(kind: ListKind): Map<FleetMember, Catalog> {
    let catalogs = this.#catalogs.get(kind);
    if (!catalogs) this.#catalogs.set(kind, (catalogs = new Map()));
    return catalogs;
  }

  #outdated(kind: ListKind): void {
    this.#names.delete(kind);
    if (kind === RESOURCES || kind === TEMPLATES) this.#uris = undefined;
  }
}

/** A request in the name of a caller who neither waits for it nor hears of it. */
function aside({ params, caller }: Exchange): Exchange {
  return backgroundListExchange(params, caller, caller.session?.signal ?? new AbortController().signal);
}
