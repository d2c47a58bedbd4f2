import type { Exchange } from '../core/exchange.ts';
import { Notice } from '../protocol/methods.ts';
import { changesOf } from '../protocol/subscriptions.ts';

/**
 * Takes the notifications of subscriptions that follow one another, for a caller who has asked for one. Of each but the first
 * it is not told that it is acknowledged, but that all it listens to has changed: that may be so, unheard, in between.
 */
export function acknowledgedOnce(exchange: Exchange): Exchange['notify'] {
  let acknowledged = false;
  return async (method, params) => {
    if (method !== Notice.Acknowledged || !acknowledged) {
      acknowledged ||= method === Notice.Acknowledged;
      return exchange.notify(method, params);
    }
    for (const [change, details] of changesOf(params?.['notifications'])) await exchange.notify(change, details);
  };
}
