import type { Exchange } from '../core/exchange.ts';
import { NotificationMethod } from '../protocol/methods.ts';
import { changesOf } from '../protocol/subscriptions.ts';

/**
 * Joins several consecutive subscriptions into one for the caller. The caller gets only the first acknowledgement. Each
 * later one becomes a notification for everything in the filter, because all of it may have changed in the gap.
 */
export function acknowledgedOnce(exchange: Exchange): Exchange['notify'] {
  let acknowledged = false;
  return async (method, params) => {
    if (method !== NotificationMethod.Acknowledged || !acknowledged) {
      acknowledged ||= method === NotificationMethod.Acknowledged;
      return exchange.notify(method, params);
    }
    for (const [change, details] of changesOf(params?.['notifications'])) await exchange.notify(change, details);
  };
}
