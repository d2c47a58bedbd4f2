import type { ShareCounts } from './share.ts';

/** Something that takes one of a limited number of places, such as a session. */
export interface Holding {
  /** The share that it counts towards (`shareOf`). */
  readonly share: string;
  /** Whether its client uses it now. */
  readonly busy: boolean;
  /** When it was last used, by `performance.now()`. */
  readonly lastUsed: number;
}

export interface EvictionRules {
  /** The number of places, all of them occupied. */
  readonly places: number;
  /** How many places each share has. */
  readonly counts: ShareCounts;
  /** The share that needs one more place. */
  readonly newcomer: string;
  /** Holdings that were used after this time are not evicted, by `performance.now()`. */
  readonly unusedSince: number;
}

/**
 * Chooses the holding to evict for a new one: the one that was unused the longest. Undefined if the new one must be
 * refused, because all are busy or were used recently. Two rules prevent one share from taking all places:
 *
 * - A share with more than half of the places makes room for others. If all its holdings are busy, it loses a busy one.
 * - A share with half of the places or more never gets a place of another share.
 */
export function evictable<H extends Holding>(holdings: Iterable<H>, rules: EvictionRules): H | undefined {
  const { counts, newcomer, unusedSince } = rules;
  const half = Math.ceil(rules.places / 2);
  for (const [share, count] of counts)
    if (count > half && share !== newcomer)
      return (
        longestUnused(holdings, (each) => each.share === share && !each.busy) ??
        longestUnused(holdings, (each) => each.share === share)
      );
  const ownOnly = counts.of(newcomer) >= half;
  const found = longestUnused(holdings, (each) => !each.busy && (!ownOnly || each.share === newcomer));
  return found && found.lastUsed <= unusedSince ? found : undefined;
}

function longestUnused<H extends Holding>(holdings: Iterable<H>, fits: (holding: H) => boolean): H | undefined {
  let oldest: H | undefined;
  for (const each of holdings) if (fits(each) && (!oldest || each.lastUsed < oldest.lastUsed)) oldest = each;
  return oldest;
}
