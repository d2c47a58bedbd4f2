import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { KNOWN_NOTICES, Notice } from './methods.ts';
import type { SubscriptionFilter } from './types.ts';

/** What tells that a list has changed, by the member of a filter that asks for it (2026-07-28, patterns/subscriptions). */
export const LIST_CHANGES = [
  ['toolsListChanged', Notice.ToolsListChanged],
  ['promptsListChanged', Notice.PromptsListChanged],
  ['resourcesListChanged', Notice.ResourcesListChanged],
] as const;

const MEMBERS: ReadonlySet<string> = new Set([...LIST_CHANGES.map(([key]) => key), 'resourceSubscriptions', 'taskIds']);

/**
 * Whether a filter asks for what a notification says. What nobody here knows may be what a member asks for that nobody here
 * knows either. Of updates of resources it is enough that the filter names one: what is a part of another its server knows.
 */
export function asksFor(filter: SubscriptionFilter, method: string, params: JsonObject): boolean {
  switch (method) {
    case Notice.ResourceUpdated:
      return Array.isArray(filter.resourceSubscriptions) && filter.resourceSubscriptions.length > 0;
    case Notice.Task:
      return Array.isArray(filter.taskIds) && filter.taskIds.includes(params['taskId']);
    default:
      return KNOWN_NOTICES.has(method)
        ? LIST_CHANGES.some(([key, notice]) => notice === method && filter[key] === true)
        : Object.keys(filter).some((key) => !MEMBERS.has(key));
  }
}

/** All changes that a filter asks for: what to tell of where nobody knows what was missed. */
export function* changesOf(filter: unknown): Iterable<[method: string, params: JsonObject]> {
  if (!isObject(filter)) return;
  const { resourceSubscriptions }: SubscriptionFilter = filter;
  for (const [key, notice] of LIST_CHANGES) if (filter[key] === true) yield [notice, {}];
  if (Array.isArray(resourceSubscriptions))
    for (const uri of resourceSubscriptions) yield [Notice.ResourceUpdated, { uri }];
}

/**
 * Whether what was updated is a resource, or a part of it: a server may name either to whoever subscribed to it (2026-07-28,
 * schema: ResourceUpdatedNotificationParams).
 */
export function isWithin(updated: unknown, uri: unknown): boolean {
  if (typeof updated !== 'string' || typeof uri !== 'string') return false;
  return updated === uri || updated.startsWith(uri.endsWith('/') ? uri : `${uri}/`);
}
