import type { ShareCounts } from './share.ts';

/** Something that takes one of a limited number of places. */
export interface Holding {
  /** Whose it is (`shareOf`). */
  readonly share: string;
  /** Whether its client uses it now. */
  readonly busy: boolean;
  /** When it was last used, by `Date.now()`. */
  readonly lastUsed: number;
}

export interface EvictionRules {
  /** The number of places. All are taken. */
  readonly places: number;
  /** How many of them each share has. */
  readonly counts: ShareCounts;
  /** The share that wants one more. */
  readonly newcomer: string;
  /** Holdings that were used after this time stay, by `Date.now()`. */
  readonly unusedSince: number;
}

/**
 * Chooses the holding that makes room for a newcomer: the one that was unused for longest. Undefined if the newcomer must
 * be refused, because all are busy or were used recently. So that nobody can lock out the others:
 *
 * - Whoever has more than half of the places makes room for others, with a busy holding if all are.
 * - Whoever has half of the places or more gets no place of others.
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
