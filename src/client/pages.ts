import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { checkEntries } from './checked.ts';
import { InvalidResultError } from './errors.ts';

/** The longest cursor, in characters. Each cursor is kept until the list ends. */
const MAX_CURSOR = 8192;

/** Requests one page of a list. */
export type PageRequest = (params: JsonObject) => Promise<JsonObject>;

/**
 * The entries of a list, page by page. Each page is requested when the previous one has been read
 * (server/utilities/pagination).
 *
 * @param property the property of a page that holds the entries.
 * @throws InvalidResultError if a page has no list of entries or a malformed entry, a cursor repeats or is longer than
 * 8,192 characters, or there are more than `maxPages` pages.
 */
export async function* entriesOf(
  method: string,
  property: string,
  request: PageRequest,
  maxPages: number,
): AsyncGenerator<JsonObject, void, undefined> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; ; page += 1) {
    const { [property]: entries, nextCursor } = await request(cursor === undefined ? {} : { cursor });
    if (!Array.isArray(entries)) throw new InvalidResultError(`The server answered ${method} without ${property}`);
    checkEntries(method, property, entries);
    yield* entries as JsonObject[];
    // An empty string is a cursor (2026-07-28, server/utilities/pagination).
    if (nextCursor === undefined || nextCursor === null) return;
    if (typeof nextCursor !== 'string') throw new InvalidResultError(`${method}: the cursor must be a string`);
    if (nextCursor.length > MAX_CURSOR)
      throw new InvalidResultError(`${method}: a cursor is longer than ${MAX_CURSOR} characters`);
    if (seen.has(nextCursor)) throw new InvalidResultError(`${method} does not end: a cursor was repeated`);
    if (page >= maxPages) throw new InvalidResultError(`${method} does not end: it has more than ${maxPages} pages`);
    seen.add(nextCursor);
    cursor = nextCursor;
  }
}

/** Whether an error can mean that a cursor is no longer valid (server/utilities/pagination: Error Handling). */
export function isInvalidCursor(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.InvalidParams;
}
