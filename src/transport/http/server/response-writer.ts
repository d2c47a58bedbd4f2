import type { Outgoing } from './outgoing.ts';
import type { HttpBody } from './call.ts';

/** The most bytes of a long text that the socket gets at once. */
const PIECE = 64 * 1024;
/** What is written next, of any response. If the kernel takes it at once, its memory serves the next piece, too. */
let copy = Buffer.allocUnsafeSlow(PIECE);

/**
 * Writes the body of a response. Long text goes to the socket in pieces, each when the previous one was taken. The reason
 * is memory: a closed socket keeps what it was given until the end of the turn of the event loop. If many large responses
 * were cut off in one turn, they would all be in memory at the same time.
 */
export class ResponseWriter {
  readonly #response: Outgoing;
  /** What the socket did not get yet, oldest first. */
  readonly #rest: Buffer[] = [];
  #bytes = 0;
  #ending = false;

  constructor(response: Outgoing) {
    this.#response = response;
  }

  /** The bytes that wait for the reader. */
  get unread(): number {
    return this.#bytes + this.#response.writableLength;
  }

  /** Returns false if the reader is slow. Then `continue` must be called after each `drain` event. */
  write(text: string): boolean {
    if (this.#rest.length === 0 && text.length <= PIECE) return this.#response.write(text);
    const bytes = Buffer.from(text, encodingFor(text, Buffer.byteLength(text)));
    this.#bytes += bytes.length;
    this.#rest.push(bytes);
    return this.#rest.length === 1 && this.continue();
  }

  /**
   * Ends the response after everything that was written, and this body.
   *
   * @param bytes the number of bytes, if the body is text.
   */
  end(body?: HttpBody, bytes?: number): void {
    const response = this.#response;
    if (typeof body === 'string') {
      if (body.length <= PIECE) response.end(body, encodingFor(body, bytes));
      else {
        this.#ending = true;
        this.write(body);
      }
    } else if (this.#rest.length > 0) this.#ending = true;
    else {
      response.cork();
      for (const part of body ?? []) response.write(part);
      response.end();
    }
  }

  /** Writes as much as the reader takes now. Returns whether that is everything, and more can be written. */
  continue(): boolean {
    const response = this.#response;
    for (let first = this.#rest[0]; first !== undefined; first = this.#rest[0]) {
      // A copy, because a piece would keep all of the text in memory.
      const piece = copy.subarray(0, first.copy(copy));
      this.#bytes -= piece.length;
      if (piece.length < first.length) this.#rest[0] = first.subarray(PIECE);
      else this.#rest.shift();
      const last = this.#ending && this.#rest.length === 0;
      const ready = last ? response.end(piece) : response.write(piece);
      const taken = response.writableLength === 0;
      if (!taken || response.mayBeWrapped) copy = Buffer.allocUnsafeSlow(PIECE);
      // A reader is not slow if the kernel took all at once. If the response itself needs no drain, a middleware does.
      if (taken && (ready !== false || response.writableNeedDrain)) continue;
      if (ready === false) {
        this.#shrink();
        return false;
      }
    }
    return !response.writableNeedDrain;
  }

  /** A part of a text keeps the memory of all of it, of which the kernel may have taken most. */
  #shrink(): void {
    const [first] = this.#rest;
    if (first && first.length < first.buffer.byteLength / 2) this.#rest[0] = Buffer.from(first);
  }

  /** Closes the connection and frees the text. */
  destroy(): void {
    this.#rest.length = 0;
    this.#bytes = 0;
    this.#response.destroy();
  }
}

/** The bytes of an ASCII text are the same in both encodings, and `latin1` is written faster. */
function encodingFor(text: string, bytes: number | undefined): 'latin1' | 'utf8' {
  return bytes === text.length ? 'latin1' : 'utf8';
}
