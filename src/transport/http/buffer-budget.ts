/** Something that keeps bytes in memory until its client reads or sends more. */
export interface Holder {
  /** How many bytes are counted for it; written by the budget alone. 0 at first. */
  held: number;
  /** Ends it and frees what it keeps: its bytes are no longer counted. */
  cutOff(): void;
}

/**
 * Addresses that are kept although they have no requests now. A `Map` whose entries come and go with every request makes
 * itself new tables all the time.
 */
const KEPT_ADDRESSES = 1000;
/** The part of the budget for requests that are being answered. */
const REQUEST_PART = 0.5;

/**
 * How many bytes a server keeps in memory for its HTTP clients: one bound for all of them. Two kinds are counted:
 *
 * - What waits for a client: bodies that it has not finished, and answers and events that it has not read. Where the bound
 *   is reached, the client that has kept the server waiting the longest is cut off. The newest never is, so an answer that
 *   is larger than the bound still goes out.
 * - Requests that are being answered. They may take half of the bound; beyond it new ones are refused. Those
 *   of one address may take no more of that half than they leave free.
 */
export class BufferBudget {
  /** Bytes. */
  readonly limit: number;
  /** Holders that wait for their clients, the longest wait first. */
  readonly #waiting = new Set<Holder>();
  #bytes = 0;
  #requestBytes = 0;
  /** Of the requests, by the address that they come from. */
  readonly #byAddress = new Map<string, number>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** How many bytes are counted now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets how many bytes a holder keeps for its client now; 0 when it no longer waits. May cut off others. */
  hold(holder: Holder, bytes: number): void {
    this.#bytes += bytes - holder.held;
    holder.held = bytes;
    if (bytes === 0) {
      this.#waiting.delete(holder);
      return;
    }
    this.#waiting.add(holder);
    this.#makeRoom(holder);
  }

  /**
   * Counts a request that is to be answered. False if there is no room: then the request must be refused.
   *
   * @param address undefined where it is not known.
   */
  reserve(bytes: number, address: string | undefined): boolean {
    const free = this.limit * REQUEST_PART - this.#requestBytes - bytes;
    if (free < 0) return false;
    // Nobody can hold all of it with requests that take for ever: some is left for the next address.
    if (address !== undefined && this.#of(address) + bytes > free) return false;
    this.#count(bytes, address);
    this.#makeRoom(undefined);
    return true;
  }

  /** A request that was counted has been answered. */
  release(bytes: number, address: string | undefined): void {
    if (bytes > 0) this.#count(-bytes, address);
  }

  #of(address: string): number {
    return this.#byAddress.get(address) ?? 0;
  }

  #count(bytes: number, address: string | undefined): void {
    this.#requestBytes += bytes;
    this.#bytes += bytes;
    if (address === undefined) return;
    const own = this.#of(address) + bytes;
    if (own === 0 && this.#byAddress.size > KEPT_ADDRESSES) this.#byAddress.delete(address);
    else this.#byAddress.set(address, own);
  }

  #makeRoom(newest: Holder | undefined): void {
    if (this.#bytes <= this.limit) return;
    for (const holder of this.#waiting) {
      if (holder === newest) continue;
      this.hold(holder, 0);
      holder.cutOff();
      if (this.#bytes <= this.limit) return;
    }
  }
}
