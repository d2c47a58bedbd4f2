import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, isStrings, type JsonObject } from '../../jsonrpc/message.ts';
import { parseJson } from '../../jsonrpc/parse.ts';
import { put } from '../../jsonrpc/shape.ts';
import { NotificationMethod } from '../../protocol/methods.ts';
import { FleetMeta, taskIdOf } from './ids.ts';
import type { ListKind } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';
import type { Naming } from './names.ts';
import { inOneMessage } from './one-message.ts';
import { hintsOf, MAX_CURSOR, readPage, type Page } from './page.ts';
import { validEntries } from './valid.ts';

/** The most pages of a list of several servers. The official client reads 64. At a longer list it fails, for all servers. */
const MAX_PAGES = 64;

/** What a cursor contains: how many pages were read, and the next cursor of each server that has more, by its label. */
interface Position {
  readonly pages: number;
  readonly cursors: ReadonlyMap<string, string>;
}

interface MemberPage {
  readonly member: FleetMember;
  readonly page: Page;
}

/** A server that has no such list. */
const NO_LIST = 'no list';

/**
 * Merges the lists of all servers. Each page has one page of every server that has more. All servers are asked in
 * parallel.
 *
 * @param own capabilities that the fleet always has.
 * @throws RpcError −32602 if the cursor is invalid; −32601 if no server has this list.
 */
export async function mergedList(
  members: Members,
  own: JsonObject,
  kind: ListKind,
  exchange: Exchange,
): Promise<JsonObject> {
  const { pages: pagesRead, cursors } = positionIn(exchange.params['cursor']) ?? { pages: 0, cursors: undefined };
  const asked = [...members].filter(({ label }) => cursors?.has(label) ?? true);
  if (cursors && (asked.length === 0 || asked.length < cursors.size)) throw invalidCursor();
  const answers = await Promise.all(asked.map((member) => read(members.naming, member, kind, exchange, cursors)));
  exchange.signal.throwIfAborted();
  const missing = asked.filter((_, index) => answers[index] === undefined).map(({ name }) => name);
  const answered = asked.flatMap((member, index) => {
    const page = answers[index];
    return typeof page === 'object' ? [shownPage(members.naming, kind, member, page)] : [];
  });
  const [pages, tooLarge] = await inOneMessage(answered);
  for (const { member } of tooLarge) {
    member.warn(
      `returned too much of ${kind.method}: with the entries of other servers, it does not fit into one message`,
    );
    missing.push(member.name);
  }
  if (pages.length === 0 && missing.length === 0 && own[kind.capability] === undefined)
    throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${kind.method}`);
  if (missing.length > 0) warnMissing(exchange, missing);
  const nextCursor = cursorOf(pages, members.naming.bare ? 0 : pagesRead + 1, kind);
  // All pages of a list must have the same scope, and later pages may be private.
  const isWhole = nextCursor === undefined && !cursors && missing.length === 0;
  return {
    [kind.key]: pages.flatMap(({ page }) => page.entries),
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ...(isWhole && hintsOf(pages.map(({ page }) => page))),
    ...(missing.length === 0 ? {} : { _meta: { [FleetMeta.Missing]: missing } }),
  };
}

/** One page of one server. Undefined if the server refuses or does not respond in time. */
async function read(
  naming: Naming,
  member: FleetMember,
  kind: ListKind,
  exchange: Exchange,
  cursors: Position['cursors'] | undefined,
): Promise<Page | typeof NO_LIST | undefined> {
  const timeout = member.timeout;
  const until = performance.now() + timeout;
  try {
    if (!cursors) {
      // A client must not request a list that the server does not declare.
      const description = await member.describe(exchange, timeout);
      if (!description) return undefined;
      const { capabilities } = description;
      if (!isObject(capabilities) || !capabilities[kind.capability]) return NO_LIST;
    }
    const rest = Math.max(1, Math.round(until - performance.now()));
    const page = await readPage(member, kind, exchange, cursors?.get(member.label), rest);
    member.answered();
    if (naming.bare) return page;
    return { ...page, entries: await validEntries(kind, page.entries, (what) => member.warn(what)) };
  } catch (thrown) {
    const error = RpcError.from(thrown);
    if (error.code === ErrorCode.MethodNotFound) return NO_LIST;
    if (exchange.signal.aborted) return undefined;
    // The only server no longer accepts its cursor. One of several must not end the lists of the others.
    if (cursors && naming.bare && error.code === ErrorCode.InvalidParams) throw error;
    member.failed(kind.method, error);
    return undefined;
  }
}

/** A page with the names, URIs or ids for clients. */
function shownPage(naming: Naming, kind: ListKind, member: FleetMember, page: Page): MemberPage {
  const entries = page.entries.map((entry) =>
    put(entry, kind.id, outward(naming, kind, member, entry[kind.id] as string)),
  );
  return { member, page: { ...page, entries } };
}

/** The name, URI or id of an entry for clients. */
function outward(naming: Naming, kind: ListKind, member: FleetMember, own: string): string {
  if (kind.id === 'taskId') return taskIdOf(member.label, own);
  if (kind.id !== 'name') return naming.outwardUri(member, own);
  const name = naming.outward(kind, member.name, own);
  if (!name.endsWith(own)) member.remember(naming.behindPrefix(member.name, own), own);
  return name;
}

/** The cursor of the next page. The rest of a server's list is left out if its cursor does not fit, or if it has too many pages. */
function cursorOf(pages: readonly MemberPage[], count: number, { method }: ListKind): string | undefined {
  const next = pages.flatMap(({ member, page }) =>
    page.next === undefined ? [] : [{ member, text: JSON.stringify([member.label, page.next]) }],
  );
  const part = (member: FleetMember, why: string): void => member.warn(`returned only a part of ${method}: ${why}`);
  if (count >= MAX_PAGES) {
    for (const { member } of next) part(member, `it has more than ${MAX_PAGES} pages`);
    return undefined;
  }
  const fitting = next.toSorted((one, other) => one.text.length - other.text.length);
  while (fitting.length > 0) {
    const cursor = Buffer.from(`[${[count, ...fitting.map(({ text }) => text)].join()}]`).toString('base64url');
    if (cursor.length <= MAX_CURSOR) return cursor;
    part(fitting.pop()!.member, 'its cursor is too long');
  }
  return undefined;
}

/** @returns undefined if there is no cursor. @throws RpcError −32602 if the cursor is invalid. */
function positionIn(cursor: unknown): Position | undefined {
  if (cursor === undefined) return undefined;
  if (typeof cursor !== 'string' || cursor.length > MAX_CURSOR) throw invalidCursor();
  try {
    const value = parseJson(Buffer.from(cursor, 'base64url'));
    const [pages, ...cursors]: unknown[] = Array.isArray(value) ? value : [];
    const isCursor = (pair: unknown): boolean => isStrings(pair) && pair.length === 2;
    if (Number.isSafeInteger(pages) && cursors.every(isCursor))
      return { pages: pages as number, cursors: new Map(cursors as [string, string][]) };
  } catch {
    // An invalid cursor.
  }
  throw invalidCursor();
}

function invalidCursor(): RpcError {
  return new RpcError(ErrorCode.InvalidParams, 'Invalid cursor: read the list again from its first page');
}

/** The same text for all lists: a client that requests several at once can show it once. */
function warnMissing(exchange: Exchange, missing: readonly string[]): void {
  const data = `entries of ${missing.join(', ')} are missing in lists, because there was no response`;
  exchange.notify(NotificationMethod.Message, { level: 'warning', logger: 'everwire', data }).catch(() => {});
}
