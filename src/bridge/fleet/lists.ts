import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, isStrings, type JsonObject } from '../../jsonrpc/message.ts';
import { parseJson } from '../../jsonrpc/parse.ts';
import { put } from '../../jsonrpc/shape.ts';
import { FleetMeta, taskIdOf } from './ids.ts';
import type { ListKind } from './kinds.ts';
import type { FleetMember, Members } from './members.ts';
import { Missing, warnMissing, type MissingReason } from './missing.ts';
import type { Naming } from './names.ts';
import { inOneMessage } from './one-message.ts';
import { hintsOf, readPage, type Page } from './page.ts';
import { validEntries } from './valid.ts';

/** The most pages of a list of several servers. The official client reads 64. At a longer list it fails, for all servers. */
const MAX_PAGES = 64;

/** The most characters of the cursor of several servers. Clients may refuse longer ones, and with them the lists of all servers. */
const MAX_CURSOR = 8192;
const TOO_LONG = 'its cursor is too long';

/** What a cursor contains: how many pages were read, and the next cursor of each server that has more, by its label. */
interface Position {
  readonly pages: number;
  /** Undefined at the first page. */
  readonly cursors: ReadonlyMap<string, string> | undefined;
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
  // It can change while servers are asked.
  const { naming } = members;
  const { pages: pagesRead, cursors } = positionIn(members, exchange.params['cursor']);
  const asked = [...members].filter(({ label }) => cursors?.has(label) ?? true);
  if (cursors && (asked.length === 0 || asked.length < cursors.size)) throw invalidCursor();
  const answers = await Promise.all(asked.map((member) => read(naming, member, kind, exchange, cursors)));
  exchange.signal.throwIfAborted();
  const missing = new Map<string, MissingReason>();
  const answered = asked.flatMap((member, index) => {
    const answer = answers[index]!;
    if (typeof answer === 'object') return [shownPage(naming, kind, member, answer)];
    if (answer !== NO_LIST) missing.set(member.name, answer);
    return [];
  });
  const { bare } = naming;
  const [pages, tooLarge] = bare ? [answered, []] : await inOneMessage(answered);
  for (const { member } of tooLarge) {
    member.warn(
      `returned too much of ${kind.method}: with the entries of other servers, it does not fit into one message`,
    );
    missing.set(member.name, Missing.TooLarge);
  }
  const { nextCursor, cut } = bare ? restOfOne(pages) : restOf(pages, pagesRead + 1, kind);
  for (const { name } of cut) missing.set(name, Missing.Cut);
  if (pages.length === 0 && missing.size === 0 && own[kind.capability] === undefined)
    throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${kind.method}`);
  warnMissing(exchange, missing);
  // All pages of a list must have the same scope, and later pages may be private.
  const isWhole = nextCursor === undefined && !cursors && missing.size === 0;
  return {
    [kind.key]: pages.flatMap(({ page }) => page.entries),
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ...(isWhole && hintsOf(pages.map(({ page }) => page))),
    ...(missing.size === 0 ? {} : { _meta: { [FleetMeta.Missing]: [...missing.keys()] } }),
  };
}

/** One page of one server, or why there is none. */
async function read(
  naming: Naming,
  member: FleetMember,
  kind: ListKind,
  exchange: Exchange,
  cursors: Position['cursors'],
): Promise<Page | typeof NO_LIST | MissingReason> {
  const timeout = member.timeout;
  const until = performance.now() + timeout;
  try {
    if (!cursors) {
      // A client must not request a list that the server does not declare.
      const description = await member.describe(exchange, timeout);
      if (typeof description === 'string') return description;
      const { capabilities } = description;
      if (!isObject(capabilities) || !capabilities[kind.capability]) return NO_LIST;
    }
    const rest = Math.max(1, Math.round(until - performance.now()));
    const page = await readPage(member, kind, exchange, cursors?.get(member.label), rest);
    member.answered();
    if (naming.bare) return page;
    return { ...page, entries: await validEntries(kind, page.entries, (what, sort) => member.warn(what, sort)) };
  } catch (thrown) {
    const error = RpcError.from(thrown);
    if (error.code === ErrorCode.MethodNotFound && !cursors) return NO_LIST;
    if (exchange.signal.aborted) return Missing.NoResponse;
    // The only server no longer accepts its cursor. One of several must not end the lists of the others.
    if (cursors && naming.bare && error.code === ErrorCode.InvalidParams) throw error;
    return member.failed(kind.method, error);
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

/** The rest of a list after a page. */
interface Rest {
  readonly nextCursor: string | undefined;
  /** The servers whose further pages cannot be read. */
  readonly cut: readonly FleetMember[];
}

/** A single server's cursor stays as it is. */
function restOfOne([first]: readonly MemberPage[]): Rest {
  return { nextCursor: first?.page.next, cut: [] };
}

/** The rest of a server's list is left out if its cursor does not fit, or if it has too many pages. */
function restOf(pages: readonly MemberPage[], count: number, { method }: ListKind): Rest {
  const cut: FleetMember[] = [];
  const leaveOut = (member: FleetMember, why: string): void => {
    member.warn(`returned only a part of ${method}: ${why}`);
    cut.push(member);
  };
  const fitting: { readonly member: FleetMember; readonly text: string }[] = [];
  for (const { member, page } of pages) {
    if (page.next === undefined) continue;
    if (count >= MAX_PAGES) leaveOut(member, `it has more than ${MAX_PAGES} pages`);
    else if (page.next.length > MAX_CURSOR) leaveOut(member, TOO_LONG);
    else fitting.push({ member, text: JSON.stringify([member.label, page.next]) });
  }
  fitting.sort((one, other) => one.text.length - other.text.length);
  while (fitting.length > 0) {
    const cursor = Buffer.from(`[${[count, ...fitting.map(({ text }) => text)].join()}]`).toString('base64url');
    if (cursor.length <= MAX_CURSOR) return { nextCursor: cursor, cut };
    leaveOut(fitting.pop()!.member, TOO_LONG);
  }
  return { nextCursor: undefined, cut };
}

/** Where a list goes on. @throws RpcError −32602 if the cursor is invalid. */
function positionIn(members: Members, cursor: unknown): Position {
  if (cursor === undefined) return { pages: 0, cursors: undefined };
  if (typeof cursor !== 'string') throw invalidCursor();
  if (members.naming.bare) return { pages: 0, cursors: new Map([...members].map(({ label }) => [label, cursor])) };
  if (cursor.length > MAX_CURSOR) throw invalidCursor();
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
