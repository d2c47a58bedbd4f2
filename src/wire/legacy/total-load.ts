/** Bytes for all clients. */
const MAX_BYTES = 256 * 1024 * 1024;
/** What each client may have whatever the others have. */
const FREE_BYTES = 64 * 1024;

/**
 * What a service keeps for the sessions of all its clients: requests that are being answered, or subscriptions. Closing a
 * connection ends neither, so what one session may have does not bound what many sessions of a client have.
 */
export class TotalLoad {
  #bytes = 0;

  /** @param own bytes that the session would have with it. */
  hasRoom(bytes: number, own: number): boolean {
    return own <= FREE_BYTES || this.#bytes + bytes <= MAX_BYTES;
  }

  /** Less, where it is negative. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}
