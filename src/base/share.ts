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
  readonly #counts = new Map<string, number>();

  of(share: string): number {
    return this.#counts.get(share) ?? 0;
  }

  add(share: string, amount = 1): void {
    this.#counts.set(share, this.of(share) + amount);
  }

  remove(share: string, amount = 1): void {
    const left = this.of(share) - amount;
    if (left === 0 && this.#counts.size > KEPT) this.#counts.delete(share);
    else this.#counts.set(share, left);
  }

  [Symbol.iterator](): IterableIterator<[share: string, count: number]> {
    return this.#counts.entries();
  }
}
