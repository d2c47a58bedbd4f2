/**
 * The bytes of a body as they come. A body that comes in one piece is not copied. The pieces of another are put together at
 * once: kept by themselves, pieces of one byte would take a hundred times their size.
 */
export class BodyBuffer {
  #bytes: Uint8Array = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** How many bytes of memory it takes. */
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

  /** What has come so far. Nothing may be added to it afterwards. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    this.#length = 0;
    return bytes;
  }
}

const EMPTY = new Uint8Array(0);
