import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { ListKind } from './kinds.ts';
import type { FleetMember } from './members.ts';

/** The most members of an entry. An entry is copied to change its name, which takes long if it has many members. */
const MAX_MEMBERS = 100;

/** How long a result may be cached, in milliseconds, and whether callers may share it. */
export interface Hints {
  readonly ttlMs: number;
  readonly isPublic: boolean;
}

/** One page of one server's list. */
export interface Page extends Hints {
  readonly entries: readonly JsonObject[];
  /** The server's cursor for the next page. */
  readonly next: string | undefined;
}

/** Reads one page of a server's list. @throws the server's RpcError; −32001 if it takes too long. */
export async function readPage(
  member: FleetMember,
  kind: ListKind,
  parent: Exchange,
  cursor: string | undefined,
  timeout = member.timeout,
): Promise<Page> {
  const params = cursor === undefined ? {} : { cursor };
  const result = await member.ask(parent, kind.method, params, timeout);
  const entries: unknown = isObject(result) ? result[kind.key] : undefined;
  if (!Array.isArray(entries)) throw new RpcError(ErrorCode.InternalError, `${kind.method} returned no ${kind.key}`);
  const { nextCursor } = result;
  return {
    entries: entries.filter((entry: unknown) => isObject(entry) && isUsable(entry, kind)) as JsonObject[],
    // A cursor that leads to the same page would never end.
    next: typeof nextCursor === 'string' && nextCursor !== cursor ? nextCursor : undefined,
    ...hintsIn(result),
  };
}

function isUsable(entry: JsonObject, kind: ListKind): boolean {
  return typeof entry[kind.id] === 'string' && Object.keys(entry).length <= MAX_MEMBERS;
}

export function hintsIn({ ttlMs, cacheScope }: JsonObject): Hints {
  return { ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0, isPublic: cacheScope === 'public' };
}

/** The cache hints that hold for all servers' results. None if there are no results. */
export function hintsOf(parts: readonly Hints[]): JsonObject {
  if (parts.length === 0) return {};
  const ttlMs = Math.min(...parts.map((part) => part.ttlMs));
  return { ttlMs, cacheScope: parts.every(({ isPublic }) => isPublic) ? 'public' : 'private' };
}
