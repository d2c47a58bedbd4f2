import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isStrings, stringsIn, type JsonObject } from '../jsonrpc/message.ts';
import { KNOWN_NOTICES, NotificationMethod } from './methods.ts';
import type { SubscriptionFilter } from './types.ts';

/** List-change notifications, by the filter member that requests them (2026-07-28, patterns/subscriptions). */
export const LIST_CHANGES = [
  ['toolsListChanged', NotificationMethod.ToolsListChanged],
  ['promptsListChanged', NotificationMethod.PromptsListChanged],
  ['resourcesListChanged', NotificationMethod.ResourcesListChanged],
] as const;

/**
 * The notifications of a change, which only subscriptions carry. A newer one replaces an older one about the same
 * thing.
 */
export const CHANGES: ReadonlySet<string> = new Set([
  ...LIST_CHANGES.map(([, notice]) => notice),
  NotificationMethod.ResourceUpdated,
]);

const MEMBERS: ReadonlySet<string> = new Set([...LIST_CHANGES.map(([key]) => key), 'resourceSubscriptions', 'taskIds']);

/** The most URIs or task ids in one filter, the most characters of one of them, and of all together. */
export const MAX_NAMES = 1000;
const MAX_NAME = 8192;
const MAX_FILTER = 256 * 1024;

/**
 * The part of a requested filter that MCP defines, without entries that are false or empty.
 *
 * @throws RpcError −32602 if the filter is malformed or too large.
 */
export function readFilter(asked: unknown): SubscriptionFilter {
  if (!isObject(asked)) throw new RpcError(ErrorCode.InvalidParams, '"notifications" must be an object');
  const filter: SubscriptionFilter = {};
  for (const [key] of LIST_CHANGES) if (asked[key] === true) filter[key] = true;
  for (const key of ['resourceSubscriptions', 'taskIds'] as const) {
    const names = distinct(asked[key], key);
    if (names.length > 0) filter[key] = names;
  }
  return filter;
}

function distinct(given: unknown, key: string): string[] {
  if (given === undefined) return [];
  if (!isStrings(given)) throw new RpcError(ErrorCode.InvalidParams, `"${key}" must be an array of strings`);
  const characters = given.reduce((sum, { length }) => sum + length, 0);
  if (given.length > MAX_NAMES || characters > MAX_FILTER || given.some(({ length }) => length > MAX_NAME)) {
    throw new RpcError(
      ErrorCode.InvalidParams,
      `"${key}" must not have more than ${MAX_NAMES} entries, of ${MAX_NAME} characters each and ${MAX_FILTER} in all`,
    );
  }
  return [...new Set(given)];
}

/** The filter in the parameters of a request or an acknowledgement. Empty if there is none. */
export function filterIn({ notifications }: JsonObject): SubscriptionFilter {
  return isObject(notifications) ? notifications : {};
}

/**
 * Whether a filter requests a notification. An unknown notification passes if the filter has an unknown member. A
 * resource update passes if the filter names any resource: only the server knows which resource is part of another.
 */
export function asksFor(filter: SubscriptionFilter, method: string, params: JsonObject): boolean {
  switch (method) {
    case NotificationMethod.ResourceUpdated:
      return Array.isArray(filter.resourceSubscriptions) && filter.resourceSubscriptions.length > 0;
    case NotificationMethod.Task:
      return Array.isArray(filter.taskIds) && filter.taskIds.includes(params['taskId']);
    default:
      return KNOWN_NOTICES.has(method)
        ? LIST_CHANGES.some(([key, notice]) => notice === method && filter[key] === true)
        : Object.keys(filter).some((key) => !MEMBERS.has(key));
  }
}

/**
 * What an acknowledgement names of the requested filter: it may name only a part of it (2026-07-28,
 * patterns/subscriptions: Acknowledgment).
 */
export function requestedPart(filter: SubscriptionFilter, acknowledged: SubscriptionFilter): SubscriptionFilter {
  const asks = new Map<string, unknown>(Object.entries(filter));
  const part = Object.entries(acknowledged).flatMap(([key, value]) => {
    const asked = asks.get(key) ?? false;
    if (asked === false) return [];
    if (!Array.isArray(asked)) return [[key, value]];
    const named = stringsIn(value);
    return [[key, (asked as string[]).filter((name) => named.has(name))]];
  });
  return Object.fromEntries(part) as SubscriptionFilter;
}

/** All notifications that a filter requests. Send them if it is not known which ones were missed. */
export function* changesOf(filter: unknown): Iterable<[method: string, params: JsonObject]> {
  if (!isObject(filter)) return;
  const { resourceSubscriptions }: SubscriptionFilter = filter;
  for (const [key, notice] of LIST_CHANGES) if (filter[key] === true) yield [notice, {}];
  if (Array.isArray(resourceSubscriptions))
    for (const uri of resourceSubscriptions) yield [NotificationMethod.ResourceUpdated, { uri }];
}

/**
 * Whether the updated resource is the given one or a part of it: a server may name either one to a subscriber
 * (2026-07-28, schema: ResourceUpdatedNotificationParams).
 */
export function isWithin(updated: unknown, uri: unknown): boolean {
  if (typeof updated !== 'string' || typeof uri !== 'string' || !updated.startsWith(uri)) return false;
  return updated.length === uri.length || uri.endsWith('/') || updated[uri.length] === '/';
}
