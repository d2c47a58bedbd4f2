import type { Exchange } from '../../core/exchange.ts';
import { shortJson } from '../../base/short-text.ts';
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
  const unusable: unknown = entries.find((entry) => problemOf(entry, kind) !== undefined);
  if (unusable !== undefined) {
    const example = malformedEntries(kind, shortJson(unusable), problemOf(unusable, kind)!);
    member.warn(example, `unusable ${kind.method}`);
  }
  return {
    entries: entries.filter((entry) => problemOf(entry, kind) === undefined) as JsonObject[],
    // A cursor that leads to the same page would never end.
    next: typeof nextCursor === 'string' && nextCursor !== cursor ? nextCursor : undefined,
    ...hintsIn(result),
  };
}

/** Why an entry cannot be in any list of a fleet. Undefined if it can. */
function problemOf(entry: unknown, { id }: ListKind): string | undefined {
  if (!isObject(entry)) return 'must be an object';
  if (typeof entry[id] !== 'string') return `${id} must be a string`;
  return Object.keys(entry).length > MAX_MEMBERS ? `has more than ${MAX_MEMBERS} members` : undefined;
}

/** The warning about malformed entries. */
export function malformedEntries({ method }: ListKind, example: string, problem: string): string {
  return `returned malformed entries of ${method}, which are left out, such as ${example}: ${problem}`;
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
