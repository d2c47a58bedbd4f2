import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { Method } from '../protocol/methods.ts';
import type { Upstream } from '../wire/upstream.ts';
import { ConnectionError, InvalidResultError, TimeoutError } from './errors.ts';
import type { ListOptions, ReadOptions } from './options.ts';
import { entriesOf, isInvalidCursor } from './pages.ts';
import type { Requester } from './requester.ts';

/** A list that a server can have. */
interface ListKind {
  readonly method: string;
  /** The capability of servers that have the list. */
  readonly capability: string;
  /** The property of a page that holds the entries. */
  readonly property: string;
}

export const LISTS = {
  tools: { method: Method.ListTools, capability: 'tools', property: 'tools' },
  resources: { method: Method.ListResources, capability: 'resources', property: 'resources' },
  resourceTemplates: {
    method: Method.ListResourceTemplates,
    capability: 'resources',
    property: 'resourceTemplates',
  },
  prompts: { method: Method.ListPrompts, capability: 'prompts', property: 'prompts' },
} as const satisfies Record<string, ListKind>;

/** The most entries of a list that is read as a whole. */
const MAX_ENTRIES = 100_000;
/** The most memory that its entries may take, in bytes (estimated). */
const MAX_LIST_SIZE = 128 * 1024 * 1024;

/** All entries of a list, within `maxTimeout`. Reads the list again if its cursors became invalid meanwhile. */
export async function listAll<T>(requester: Requester, list: ListKind, options: ListOptions = {}): Promise<T[]> {
  const { method } = list;
  const { maxTimeout } = requester.limits(options);
  const limited = { ...options, ...(maxTimeout > 0 && { deadline: performance.now() + maxTimeout }) };
  const read = (): Promise<T[]> => collect(method, listEntries<T>(requester, list, limited));
  try {
    return await read();
  } catch (error) {
    if (error instanceof PlaceLost && requester.link.usable) return read();
    if (!isInvalidCursor(error) || options.fresh) throw error;
    // A cached page may name a cursor that is no longer valid: read the whole list again (2026-07-28,
    // server/utilities/caching: Interaction with Pagination).
    if (!requester.cache?.forget(method)) throw error;
    return read();
  }
}

/** The entries of a list one by one. Each page is requested when the previous one has been read. */
export async function* listEntries<T>(
  requester: Requester,
  { method, capability, property }: ListKind,
  { maxPages = 1000, deadline, ...options }: ListOptions & { readonly deadline?: number } = {},
): AsyncGenerator<T, void, undefined> {
  const { link } = requester;
  if (link.lacks(capability)) return;
  /** The session that the cursors belong to. */
  let session: Upstream | undefined;
  /** The time that is left for all pages. */
  const inTime = (): ReadOptions => {
    if (deadline === undefined) return options;
    const maxTimeout = Math.ceil(deadline - performance.now());
    if (maxTimeout > 0) return { ...options, maxTimeout };
    const limit = requester.limits(options).maxTimeout;
    throw new TimeoutError(`${method} was not read completely within ${limit} ms`, limit);
  };
  const request = async (params: JsonObject): Promise<JsonObject> => {
    if (params['cursor'] === undefined) {
      const page = await requester.request(method, params, inTime());
      if (requester.era === 'legacy') session = link.upstream;
      return page;
    }
    try {
      if (session && link.current !== session) throw new PlaceLost(method);
      return await requester.request(method, params, inTime());
    } catch (error) {
      throw session && error instanceof ConnectionError && !(error instanceof PlaceLost)
        ? new PlaceLost(method, { cause: error })
        : error;
    }
  };
  try {
    yield* entriesOf(method, property, request, maxPages) as AsyncGenerator<T, void, undefined>;
  } catch (error) {
    // A server without handshakes may have gained the capability since then, so ask it. If it has not, the list is
    // empty.
    const unknown = error instanceof RpcError && error.code === ErrorCode.MethodNotFound;
    if (!unknown || isObject(link.upstream?.discovered.capabilities[capability])) throw error;
  }
}

/** Cursors are valid in their session only (2025-11-25, server/utilities/pagination: Implementation Guidelines). */
class PlaceLost extends ConnectionError {
  constructor(method: string, options?: ErrorOptions) {
    super(
      `The connection was lost between two pages of ${method}: the list has to be read from its beginning`,
      options,
    );
  }
}

/** @throws InvalidResultError if there are too many entries to read the list as a whole. */
async function collect<T>(method: string, entries: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  let size = 0;
  for await (const entry of entries) {
    if (all.length === MAX_ENTRIES) {
      throw new InvalidResultError(`${method} has more than ${MAX_ENTRIES} entries: read it page by page`);
    }
    size += weightOf(entry, MAX_LIST_SIZE);
    if (size > MAX_LIST_SIZE) {
      throw new InvalidResultError(`${method} takes more than ${MAX_LIST_SIZE} bytes of memory: read it page by page`);
    }
    all.push(entry);
  }
  return all;
}
