/** The sender of a request, for limits. */
export interface Owner {
  readonly principal: string | undefined;
  /** The remote address, if it is known. */
  readonly address: string | undefined;
}

/**
 * The share of a limit that a request counts towards: that of the principal, or of the address if there is no
 * principal.
 */
export function shareOf({ principal, address = '' }: Owner): string {
  return principal === undefined ? `address ${address}` : `principal ${principal}`;
}

/**
 * The part of a limit that one share may use, if nothing can be taken away from a share later. The rest is for others.
 */
export const PART_OF_ONE = 7 / 8;

/**
 * How many shares without any amount stay in the map. A `Map` keeps reallocating its tables if entries are added and
 * removed.
 */
const KEPT = 1000;

/** Counts by share, or sums of amounts. */
export class ShareCounts implements Iterable<[share: string, count: number]> {
  // Requests change an object, because each write to a `Map` looks for the share anew.
  readonly #counts = new Map<string, { count: number }>();

  of(share: string): number {
    return this.#counts.get(share)?.count ?? 0;
  }

  add(share: string, amount = 1): void {
    const counted = this.#counts.get(share);
    if (counted) counted.count += amount;
    else this.#counts.set(share, { count: amount });
  }

  remove(share: string, amount = 1): void {
    const counted = this.#counts.get(share);
    if (!counted) return;
    counted.count -= amount;
    if (counted.count === 0 && this.#counts.size > KEPT) this.#counts.delete(share);
  }

  *[Symbol.iterator](): Generator<[share: string, count: number]> {
    for (const [share, { count }] of this.#counts) yield [share, count];
  }
}
