/** The most bytes for all peers together. */
const MAX_BYTES = 256 * 1024 * 1024;
/** The bytes that each peer may always use, even if the total is exhausted. There may be ten thousand peers. */
const FREE_BYTES = 16 * 1024;

/**
 * Counts what is kept for all peers together: the requests in flight, the subscriptions, or the descriptions of the clients, of
 * all sessions of a service; or the open questions of all servers. Closing a session's connection ends none of them, so the limit
 * of one session does not limit a client with many sessions.
 */
export class TotalLoad {
  readonly #maxBytes: number;
  readonly #freeBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES, freeBytes = FREE_BYTES) {
    this.#maxBytes = maxBytes;
    this.#freeBytes = freeBytes;
  }

  /** @param own the bytes that the peer would use, including the new ones. */
  hasRoom(bytes: number, own: number): boolean {
    return own <= this.#freeBytes || this.#bytes + bytes <= this.#maxBytes;
  }

  /** A negative number subtracts. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}
