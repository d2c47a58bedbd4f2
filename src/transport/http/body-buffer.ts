/**
 * Collects the bytes of a body. A body that comes in one piece is not copied. Several pieces are joined as they come:
 * a list of one-byte pieces would take a hundred times their size.
 */
export class BodyBuffer {
  #bytes: Uint8Array = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Its memory in bytes. */
  get capacity(): number {
    return this.#bytes.byteLength;
  }

  push(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length) {
        const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
        larger.set(this.#bytes.subarray(0, this.#length));
        this.#bytes = larger;
      }
      this.#bytes.set(piece, this.#length);
    }
    this.#length = length;
  }

  /** Returns what has come so far, and empties the buffer. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    this.#length = 0;
    return bytes;
  }
}

const EMPTY = new Uint8Array(0);
