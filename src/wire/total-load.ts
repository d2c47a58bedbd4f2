/** The most bytes for all peers together. */
const MAX_BYTES = 256 * 1024 * 1024;
/** The bytes that each peer may always use, even if the total is exhausted. There may be ten thousand peers. */
const FREE_BYTES = 16 * 1024;

/**
 * Counts what is kept for all peers together: the requests in flight, or the subscriptions, of all sessions of a service;
 * or the open questions of all servers. Closing a session's connection ends neither, so the limit of one session does not
 * limit a client with many sessions.
 */
export class TotalLoad {
  #bytes = 0;

  /** @param own the bytes that the peer would use, including the new ones. */
  hasRoom(bytes: number, own: number): boolean {
    return own <= FREE_BYTES || this.#bytes + bytes <= MAX_BYTES;
  }

  /** A negative number subtracts. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}
