import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { Notice } from '../../protocol/methods.ts';
import { cursorOf, invalidCursor, positionOf, type Position } from './cursor.ts';
import { RESOURCES, TEMPLATES, type ListKind } from './kinds.ts';
import { awakeOf, type FleetMember, type Members } from './members.ts';
import { FleetMeta } from './meta.ts';
import { taskIdOf } from './tasks.ts';
import type { View } from './view.ts';
import { readPage, walk, type Page, type Walk } from './walk.ts';

/** Entries in one page of a merged list, or a server's page more. Many hosts read no further than the first. */
const PAGE = 1000;

/**
 * The lists of all servers as one. The first page asks all servers at once, and has as much as a page takes; those behind
 * it are pages of one server each. Where names have to be compared, all servers are asked for all of their lists first, of
 * which nothing but the names is kept.
 */
export class MergedLists {
  readonly #members: Members;
  readonly #capabilities: JsonObject;

  /** @param capabilities that are declared whatever the servers have. */
  constructor(members: Members, capabilities: JsonObject) {
    this.#members = members;
    this.#capabilities = capabilities;
  }

  /** @throws RpcError −32602 where the cursor is none of ours; −32601 where no server has such a list. */
  async list(kind: ListKind, exchange: Exchange, view: View): Promise<JsonObject> {
    const { cursor } = exchange.params;
    if (cursor === undefined) return this.#first(kind, exchange, view);
    return this.#next(kind, exchange, view, positionOf(cursor));
  }

  async #first(kind: ListKind, exchange: Exchange, view: View): Promise<JsonObject> {
    // One that has just kept everybody waiting is not waited for once more.
    const silent = await view.capabilities.describeAll(exchange);
    const members = view.capabilities.having(kind.capability);
    // Without the capability there is no such method.
    if (members.length === 0 && this.#capabilities[kind.capability] === undefined)
      throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${kind.method}`);
    const toTheEnd = this.#compares(kind, members);
    const walks = await Promise.all(
      members.map((member) =>
        silent.has(member) ? Promise.resolve(undefined) : this.#walk(kind, member, exchange, view, toTheEnd),
      ),
    );
    exchange.signal.throwIfAborted();
    await this.#prepare(kind, exchange, view);
    const result: JsonObject[] = [];
    let ttlMs = Infinity;
    let isPublic = true;
    let nextCursor: string | undefined;
    all: for (const [index, found] of walks.entries()) {
      for (const page of found?.pages ?? []) {
        for (const entry of this.#named(kind, members[index]!, page, view)) result.push(entry);
        ttlMs = Math.min(ttlMs, page.ttlMs);
        isPublic &&= page.isPublic;
        const unfinished = page === found!.pages.at(-1) && page.next !== undefined;
        if (result.length >= PAGE || unfinished) nextCursor = cursorBehind(members, walks, index, page);
        if (nextCursor !== undefined) break all;
      }
    }
    const missing = members.filter((_, index) => !walks[index]).map(({ name }) => name);
    tellMissing(kind, exchange, missing);
    // All pages of a list must have the same scope, and what the others will be is not known yet.
    const shared = nextCursor === undefined && missing.length === 0 && members.length > 0;
    return listed(kind, result, nextCursor, missing, shared ? { ttlMs, isPublic } : undefined);
  }

  /** One page of one server. Where it does not answer, the list goes on with the next one. */
  async #next(kind: ListKind, exchange: Exchange, view: View, { member: name, cursor }: Position): Promise<JsonObject> {
    const members = view.capabilities.having(kind.capability);
    const index = members.findIndex((each) => each.label === name);
    const member = members[index];
    if (!member) throw invalidCursor();
    const behind = members[index + 1];
    const nextMember = behind && cursorOf({ member: behind.label, cursor: undefined });
    let page: Page;
    try {
      page = await readPage(this.#members, member, kind, exchange, cursor, this.#members.patience(member, kind));
    } catch (thrown) {
      const error = RpcError.from(thrown);
      exchange.signal.throwIfAborted();
      // The server does not know its cursor any more: the caller has to begin anew.
      if (error.code === ErrorCode.InvalidParams) throw error;
      view.failed(kind, member, exchange, error);
      tellMissing(kind, exchange, [member.name]);
      return listed(kind, [], nextMember, [member.name], undefined);
    }
    view.answered(kind, member);
    // Whoever gave out the cursor may be gone, and with it what it knew of the names.
    if (this.#compares(kind, members)) await view.load(kind, exchange, awakeOf(members, kind));
    view.add(
      kind,
      member,
      page.entries.map((entry) => entry[kind.id] as string),
    );
    await this.#prepare(kind, exchange, view);
    const next = page.next === undefined ? nextMember : cursorOf({ member: member.label, cursor: page.next });
    return listed(kind, this.#named(kind, member, page, view), next, [], undefined);
  }

  async #walk(
    kind: ListKind,
    member: FleetMember,
    exchange: Exchange,
    view: View,
    all: boolean,
  ): Promise<Walk | undefined> {
    try {
      const found = await walk(this.#members, member, kind, exchange, PAGE, all);
      if (found.ids) view.learn(kind, member, found.ids);
      view.answered(kind, member);
      return found;
    } catch (error) {
      if (!exchange.signal.aborted) view.failed(kind, member, exchange, error);
      return undefined;
    }
  }

  /** Whether what the servers list must be known before any of it can be named. */
  #compares(kind: ListKind, members: readonly FleetMember[]): boolean {
    if (members.length < 2) return false;
    return kind.id === 'name' ? !this.#members.naming.always : kind.capability === 'resources';
  }

  /** A URI is told from those of lists and of templates. */
  async #prepare(kind: ListKind, exchange: Exchange, view: View): Promise<void> {
    if (kind !== RESOURCES && kind !== TEMPLATES) return;
    await view.loadUris(exchange);
  }

  #named(kind: ListKind, member: FleetMember, { entries }: Page, view: View): JsonObject[] {
    return entries.map((entry) => {
      const id = entry[kind.id] as string;
      const outward = outwardId(kind, member, id, view);
      return outward === id ? entry : { ...entry, [kind.id]: outward };
    });
  }
}

function outwardId(kind: ListKind, member: FleetMember, id: string, view: View): string {
  switch (kind.id) {
    case 'uri':
      return view.uris().outward(member.name, id);
    case 'uriTemplate':
      return view.uris().outwardTemplate(member.name, id);
    case 'taskId':
      return taskIdOf(member.label, id);
    default:
      return view.names(kind).outward(member.name, id);
  }
}

/** Where a list goes on behind a page; undefined where nothing is left. */
function cursorBehind(
  members: readonly FleetMember[],
  walks: readonly (Walk | undefined)[],
  index: number,
  page: Page,
): string | undefined {
  if (page.next !== undefined) return cursorOf({ member: members[index]!.label, cursor: page.next });
  const next = members.findIndex(
    (_, other) => other > index && walks[other]?.pages.some(({ entries }) => entries.length > 0),
  );
  return next === -1 ? undefined : cursorOf({ member: members[next]!.label, cursor: undefined });
}

function listed(
  kind: ListKind,
  entries: readonly JsonObject[],
  nextCursor: string | undefined,
  missing: readonly string[],
  hints: { ttlMs: number; isPublic: boolean } | undefined,
): JsonObject {
  return {
    [kind.key]: entries,
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ...hintsOf(hints),
    ...(missing.length === 0 ? {} : { _meta: { [FleetMeta.Missing]: missing } }),
  };
}

/** What a result says of how long, and by whom, it may be kept; nothing where it must not be. */
export function hintsOf(hints: { ttlMs: number; isPublic: boolean } | undefined): JsonObject {
  if (!hints || !Number.isFinite(hints.ttlMs)) return {};
  return { ttlMs: hints.ttlMs, cacheScope: hints.isPublic ? 'public' : 'private' };
}

function tellMissing(kind: ListKind, exchange: Exchange, missing: readonly string[]): void {
  if (missing.length === 0) return;
  const data = `${kind.key} come without those of ${missing.join(', ')}, which did not answer`;
  exchange.notify(Notice.Message, { level: 'warning', logger: 'everwire', data }).catch(() => {});
}
