import type { ByteRange, BytesRecord } from '../inspect/record.ts';

/** Keeps the newest bytes of a stream, so that the text of parts can be read. */
export class StreamBytes {
  readonly #max: number;
  #records: BytesRecord[] = [];
  #size = 0;

  /** @param max at least this many bytes are kept. */
  constructor(max: number) {
    this.#max = max;
  }

  push(record: BytesRecord): void {
    this.#records.push(record);
    this.#size += record.bytes.length;
    while (this.#size - this.#records[0]!.bytes.length >= this.#max) this.#size -= this.#records.shift()!.bytes.length;
  }

  /** The text of a range. Undefined if its beginning is no longer kept. */
  text(range: ByteRange): string | undefined {
    if (!this.#records[0] || range[0]! < this.#records[0].range[0]) return undefined;
    const pieces: Buffer[] = [];
    for (let i = 0; i < range.length; i += 2)
      for (const { bytes, range: place } of this.#records) {
        const [from, to] = [range[i]! - place[0], range[i + 1]! - place[0]];
        if (from < bytes.length && to > 0) pieces.push(bytes.subarray(Math.max(from, 0), to));
      }
    return Buffer.concat(pieces).toString();
  }
}
