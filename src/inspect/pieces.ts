import type { ByteRange } from './record.ts';

/** The most pieces of a range. A hostile peer may send a frame in chunks of one byte. */
const MAX_PIECES = 1000;

/** Collects the bytes that belong to one part of a stream. */
export class Pieces {
  #range: number[] = [];
  #exact = true;

  /** Adds bytes that lie after those added before. */
  add(start: number, end: number): void {
    const range = this.#range;
    const last = range.length - 1;
    if (start === end) return;
    if (range[last] === start) range[last] = end;
    else if (range.length < 2 * MAX_PIECES) range.push(start, end);
    else {
      range[last] = end;
      this.#exact = false;
    }
  }

  get isEmpty(): boolean {
    return this.#range.length === 0;
  }

  /**
   * Returns the range and starts a new one. A note says if the last piece also covers bytes that do not belong to it.
   */
  take(): { readonly range: ByteRange; readonly note?: string } {
    const range = this.#range;
    const exact = this.#exact;
    this.#range = [];
    this.#exact = true;
    return exact ? { range } : { range, note: 'in too many pieces: the last one also covers what is between them' };
  }
}
