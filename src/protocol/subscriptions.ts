import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Notice } from './methods.ts';
import type { SubscriptionFilter } from './types.ts';

/** What tells that a list has changed, by the member of a filter that asks for it (2026-07-28, patterns/subscriptions). */
export const LIST_CHANGES = [
  ['toolsListChanged', Notice.ToolsListChanged],
  ['promptsListChanged', Notice.PromptsListChanged],
  ['resourcesListChanged', Notice.ResourcesListChanged],
] as const;

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
