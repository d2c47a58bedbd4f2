/** Something that keeps bytes in memory until its client reads or sends more. */
export interface Holder {
  /** The bytes that are counted for it. Only the budget writes this. Initially 0. */
  held: number;
  /** Ends it and frees what it keeps: its bytes are no longer counted. */
  cutOff(): void;
}

/**
 * Addresses that stay in the map without requests. A `Map` keeps reallocating its tables if entries come and go with
 * every request.
 */
const KEPT_ADDRESSES = 1000;
/** The part of the budget for requests that are being answered. */
const REQUEST_PART = 0.5;

/**
 * Limits the bytes that a server keeps in memory for all its HTTP clients. It counts two kinds:
 *
 * - Data that waits for a client: unfinished bodies, and unread responses and events. At the limit, the client that has
 * kept the server waiting longest is disconnected. The newest never is, so a response larger than the limit still goes
 * out.
 * - Requests in flight. They may take half of the limit; beyond it new ones are refused. The requests of one address
 * may take no more of that half than they leave free.
 */
export class BufferBudget {
  /** Bytes. */
  readonly limit: number;
  /** Holders that wait for their clients, the longest wait first. */
  readonly #waiting = new Set<Holder>();
  #bytes = 0;
  #requestBytes = 0;
  /** The bytes of requests, by client address. */
  readonly #byAddress = new Map<string, number>();

  constructor(limit: number) {
    this.limit = limit;
  }

  /** The bytes that are counted now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets how many bytes a holder keeps for its client; 0 when it no longer waits. May disconnect other clients. */
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
   * Counts a request. Returns false if there is no room and the request must be refused.
   *
   * @param address undefined if it is unknown.
   */
  reserve(bytes: number, address: string | undefined): boolean {
    const free = this.limit * REQUEST_PART - this.#requestBytes - bytes;
    if (free < 0) return false;
    // One address with endless requests cannot take everything: some room is left for the next address.
    if (address !== undefined && this.#of(address) + bytes > free) return false;
    this.#count(bytes, address);
    this.#makeRoom(undefined);
    return true;
  }

  /** Stops counting a request that has been answered. */
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
