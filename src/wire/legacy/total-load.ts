/** Bytes of the requests of all clients that are being answered. */
const MAX_BYTES = 256 * 1024 * 1024;
/** What each client may have in flight whatever the others have. */
const FREE_BYTES = 64 * 1024;

/**
 * What the requests of all clients of a service weigh that are being answered. Closing a connection cancels no request of
 * a session, so what one client may have in flight does not bound what many sessions of it have.
 */
export class TotalLoad {
  #bytes = 0;

  /** @param own bytes that the client would have in flight with it. */
  hasRoom(bytes: number, own: number): boolean {
    return own <= FREE_BYTES || this.#bytes + bytes <= MAX_BYTES;
  }

  /** Less, where it is negative. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}
