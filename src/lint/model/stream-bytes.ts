interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** The bytes of streams from which the upper layers have not found a part yet, within a limit. */
export class StreamBytes {
  readonly #max: number;
  readonly #streams = new Map<string, Chunk[]>();
  #size = 0;

  /** @param max bytes of all streams together. Above this, the stream that waits longest is dropped. */
  constructor(max: number) {
    this.#max = max;
  }

  add(stream: string, start: number, bytes: Uint8Array): void {
    let chunks = this.#streams.get(stream);
    if (!chunks) this.#streams.set(stream, (chunks = []));
    chunks.push({ start, bytes });
    this.#size += bytes.length;
    while (this.#size > this.#max) this.drop(this.#streams.keys().next().value!);
  }

  /** The bytes of a range with one or several pieces. Undefined if some are missing. */
  read(stream: string, range: readonly number[]): Uint8Array | undefined {
    const chunks = this.#streams.get(stream) ?? [];
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < range.length; at += 2) {
      let offset = range[at]!;
      const end = range[at + 1]!;
      for (let next = firstAfter(chunks, offset); next < chunks.length && offset < end; next += 1) {
        const { start, bytes } = chunks[next]!;
        if (start > offset) return undefined;
        const piece = bytes.subarray(offset - start, end - start);
        pieces.push(piece);
        offset += piece.length;
      }
      if (offset < end) return undefined;
    }
    return joined(pieces);
  }

  /** Forgets the bytes before an offset. */
  forget(stream: string, before: number): void {
    const chunks = this.#streams.get(stream);
    if (!chunks) return;
    let count = 0;
    for (const { start, bytes } of chunks) {
      if (start + bytes.length > before) break;
      this.#size -= bytes.length;
      count += 1;
    }
    chunks.splice(0, count);
    if (chunks.length === 0) this.#streams.delete(stream);
  }

  drop(stream: string): void {
    for (const { bytes } of this.#streams.get(stream) ?? []) this.#size -= bytes.length;
    this.#streams.delete(stream);
  }

  dropAll(): void {
    this.#streams.clear();
    this.#size = 0;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0]!;
  const whole = new Uint8Array(pieces.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** The first chunk that ends after an offset. An event stream has many chunks before the newest event. */
function firstAfter(chunks: readonly Chunk[], offset: number): number {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { start, bytes } = chunks[middle]!;
    if (start + bytes.length <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
