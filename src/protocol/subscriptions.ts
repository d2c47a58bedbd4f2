import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { KNOWN_NOTICES, NotificationMethod } from './methods.ts';
import type { SubscriptionFilter } from './types.ts';

/** List-change notifications, by the filter member that requests them (2026-07-28, patterns/subscriptions). */
export const LIST_CHANGES = [
  ['toolsListChanged', NotificationMethod.ToolsListChanged],
  ['promptsListChanged', NotificationMethod.PromptsListChanged],
  ['resourcesListChanged', NotificationMethod.ResourcesListChanged],
] as const;

const MEMBERS: ReadonlySet<string> = new Set([...LIST_CHANGES.map(([key]) => key), 'resourceSubscriptions', 'taskIds']);

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
  if (typeof updated !== 'string' || typeof uri !== 'string') return false;
  return updated === uri || updated.startsWith(uri.endsWith('/') ? uri : `${uri}/`);
}
