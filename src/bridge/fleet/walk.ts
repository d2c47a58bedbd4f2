import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { ListKind } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';

/** Names or URIs of one server that are looked at; what a list has beyond them is left out. */
export const MAX_LISTED = 20_000;
/** Characters of these. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
/** Pages of one list, for a server may give cursors for ever. */
const MAX_PAGES = 1000;
/** Characters of a cursor. */
export const MAX_CURSOR = 8192;

/** One page of one server's list. */
export interface Page {
  readonly entries: readonly JsonObject[];
  /** Where the server goes on. */
  readonly next: string | undefined;
  /** Milliseconds that it is good for. */
  readonly ttlMs: number;
  /** Whether callers may share it. */
  readonly isPublic: boolean;
}

const NOTHING: Page = { entries: [], next: undefined, ttlMs: Infinity, isPublic: true };

/**
 * One page of a server's list; an empty one where it has no such list.
 *
 * @throws RpcError as the server has it; −32001 where it takes too long.
 */
export async function readPage(
  members: Members,
  member: FleetMember,
  kind: ListKind,
  whole: Exchange,
  cursor: string | undefined,
  patience: number,
): Promise<Page> {
  const params = cursor === undefined ? {} : { cursor };
  let result: JsonObject;
  try {
    result = await members.ask(member, whole, kind.method, params, patience);
  } catch (error) {
    if (RpcError.from(error).code === ErrorCode.MethodNotFound) return NOTHING;
    throw error;
  }
  const entries: unknown = isObject(result) ? result[kind.key] : undefined;
  if (!Array.isArray(entries)) throw new RpcError(ErrorCode.InternalError, `${kind.method} gave no ${kind.key}`);
  const { nextCursor, ttlMs, cacheScope } = result;
  return {
    entries: entries.filter((entry: unknown) => isObject(entry) && typeof entry[kind.id] === 'string') as JsonObject[],
    next: typeof nextCursor === 'string' && nextCursor.length <= MAX_CURSOR ? nextCursor : undefined,
    ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0,
    isPublic: cacheScope === 'public',
  };
}

/** What a walk through a server's list has found. */
export interface Walk {
  /** The first pages, with as many entries as were to be kept, or a page more. */
  readonly pages: readonly Page[];
  /** By what the entries are asked for, as far as they came; undefined where the walk was not to go to the end. */
  readonly ids: ReadonlySet<string> | undefined;
}

/**
 * Goes through a server's list.
 *
 * @param keep so many entries are kept.
 * @param toTheEnd whether to go on to the end, for what the entries are asked for by.
 * @param wait milliseconds that all of it may take. Default: as long as the server is waited for.
 * @throws RpcError where there is not even a first page: as the server has it; −32001 where it takes too long.
 */
export async function walk(
  members: Members,
  member: FleetMember,
  kind: ListKind,
  exchange: Exchange,
  keep: number,
  toTheEnd: boolean,
  wait = members.patience(member, kind),
): Promise<Walk> {
  const until = performance.now() + wait;
  const pages: Page[] = [];
  const ids = new Set<string>();
  let kept = 0;
  let characters = 0;
  let cursor: string | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const patience = Math.max(1, Math.round(until - performance.now()));
    let page: Page;
    try {
      page = await readPage(members, member, kind, exchange, cursor, patience);
    } catch (error) {
      if (count === 0 || exchange.signal.aborted) throw error;
      // What has come is shown, and its cursor leads on.
      members.fellShort(member, kind.method, RpcError.from(error));
      return { pages, ids };
    }
    // A cursor that leads to itself leads nowhere.
    if (page.next !== undefined && page.next === cursor) page = { ...page, next: undefined };
    if (kept < keep) pages.push(page);
    kept += page.entries.length;
    for (const entry of page.entries) {
      const id = entry[kind.id] as string;
      if (ids.size >= MAX_LISTED || characters + id.length > MAX_CHARACTERS) break;
      ids.add(id);
      characters += id.length;
    }
    if (page.next === undefined) return { pages, ids };
    if (!toTheEnd && kept >= keep) return { pages, ids: undefined };
    cursor = page.next;
  }
  return { pages, ids };
}
