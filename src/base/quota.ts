import { ShareCounts } from './share.ts';

/** An amount that is limited in total and for each owner. Amounts without an owner count towards the total only. */
export class Quota {
  readonly #max: number;
  readonly #maxPerOwner: number;
  readonly #owned = new ShareCounts();
  #total = 0;

  constructor(max: number, maxPerOwner: number) {
    this.#max = max;
    this.#maxPerOwner = maxPerOwner;
  }

  /**
   * Reserves an amount. Returns false, and reserves nothing, if a limit would be exceeded.
   *
   * @param maxOwned the limit of this owner. Default: that of all owners.
   */
  take(owner: string | undefined, amount: number, maxOwned = this.#maxPerOwner): boolean {
    const owned = amount + (owner === undefined ? 0 : this.#owned.of(owner));
    if (this.#total + amount > this.#max || (owner !== undefined && owned > maxOwned)) return false;
    this.#total += amount;
    if (owner !== undefined) this.#owned.add(owner, amount);
    return true;
  }

  giveBack(owner: string | undefined, amount: number): void {
    this.#total -= amount;
    if (owner !== undefined) this.#owned.remove(owner, amount);
  }
}
