import type { Content, WireRecord } from './wire-record.ts';

/** The bytes of a range, as far as they are in memory. */
export interface RangeBytes {
  /** In order. */
  readonly pieces: readonly Content[];
  /** How many bytes are no longer in memory, or were lost. */
  readonly missing: number;
}

/** The bytes of one stream: its records in order, without the oldest ones. */
export class StreamBytes {
  #records: WireRecord[] = [];
  #first = 0;

  get isEmpty(): boolean {
    return this.#first === this.#records.length;
  }

  push(record: WireRecord): void {
    this.#records.push(record);
  }

  /** Forgets the oldest record. */
  shift(): void {
    this.#first += 1;
    if (this.#first < 1000 || this.#first * 2 < this.#records.length) return;
    this.#records = this.#records.slice(this.#first);
    this.#first = 0;
  }

  /** The bytes of a range with one or several pieces. */
  read(range: readonly number[]): RangeBytes {
    const pieces: Content[] = [];
    let missing = 0;
    for (let at = 0; at < range.length; at += 2) {
      const end = range[at + 1]!;
      let offset = range[at]!;
      for (let index = this.#find(offset); offset < end; index += 1) {
        const record = this.#records[index];
        const [start = end] = record?.range ?? [];
        if (start > offset) {
          const next = Math.min(start, end);
          missing += next - offset;
          offset = next;
          if (!record) break;
        }
        if (offset >= end) break;
        const piece = part(record!.content!, offset - start, end - start);
        if (piece.length > 0) pieces.push(piece);
        offset += piece.length;
      }
    }
    return { pieces, missing };
  }

  /** The first record that ends after an offset. */
  #find(offset: number): number {
    let [low, high] = [this.#first, this.#records.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#records[middle]!.range![1]! <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A part of the bytes, without a copy. */
function part(content: Content, start: number, end: number): Content {
  return typeof content === 'string' ? content.slice(start, end) : content.subarray(start, end);
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes as text. What is not UTF-8 becomes U+FFFD. */
export function textOf(pieces: readonly Content[]): string {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.length === 1 ? pieces[0]! : pieces.join('');
  return decoder.decode(bytesOf(pieces));
}

/** All pieces as one. */
export function bytesOf(pieces: readonly Content[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(pieces.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') encoder.encodeInto(piece, bytes.subarray(at));
    else bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
