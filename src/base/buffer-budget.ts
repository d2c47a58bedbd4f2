import { ShareCounts } from './share.ts';

/** Something that keeps bytes in memory until its client reads or sends more. */
export interface Holder {
  /** The bytes that are counted for it. Only the budget writes this. Initially 0. */
  held: number;
  /** Ends the holder and frees what it keeps. Its bytes are no longer counted. */
  cutOff(): void;
}

/** The part of the budget for requests that are being answered. */
const REQUEST_PART = 0.5;

/**
 * Limits the bytes that are kept in memory for peers: by an HTTP server for all its clients, or by this process for all
 * peers that do not read. It counts two kinds:
 *
 * - Data that waits for a client: unfinished bodies, unread responses and unread events. At the limit, the client that
 *   has kept the server waiting longest is disconnected. The newest one is never disconnected, so a single response may
 *   be larger than the limit.
 * - Requests in flight. They may take half of the limit. Above that, new requests are refused. The requests of one
 *   principal or address may use at most half of what the others leave free.
 */
export class BufferBudget {
  /** Bytes. */
  readonly limit: number;
  /** Holders that wait for their clients, the longest wait first. */
  readonly #waiting = new Set<Holder>();
  #bytes = 0;
  #requestBytes = 0;
  /** The bytes of requests, by share (`shareOf`). */
  readonly #shares = new ShareCounts();

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
   * @param share the share that the request counts towards (`shareOf`). Undefined if it is unknown: such a request has
   * only the total limit.
   */
  reserve(bytes: number, share: string | undefined): boolean {
    const free = this.limit * REQUEST_PART - this.#requestBytes - bytes;
    if (free < 0) return false;
    // One caller with endless requests cannot take all room: some is always left for other callers.
    if (share !== undefined && this.#shares.of(share) + bytes > free) return false;
    this.#requestBytes += bytes;
    this.#bytes += bytes;
    if (share !== undefined) this.#shares.add(share, bytes);
    this.#makeRoom(undefined);
    return true;
  }

  /** Stops counting a request that has been answered. */
  release(bytes: number, share: string | undefined): void {
    if (bytes === 0) return;
    this.#requestBytes -= bytes;
    this.#bytes -= bytes;
    if (share !== undefined) this.#shares.remove(share, bytes);
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
