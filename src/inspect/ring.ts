import type { WireRecord } from './record.ts';

/** What a record takes in memory besides its bytes, about. */
const RECORD_OVERHEAD = 200;

/** Keeps the newest records, and forgets the oldest when there are too many. */
export class RecordRing {
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  /** The record with number `n` is at `n % maxRecords`. */
  readonly #records: (WireRecord | undefined)[] = [];
  #bytes = 0;
  /** The number of the oldest record that is kept. */
  #oldest = 1;
  #newest = 0;

  constructor(maxRecords: number, maxBytes: number) {
    this.#maxRecords = maxRecords;
    this.#maxBytes = maxBytes;
  }

  /** The number of the newest record. 0 if there is none. */
  get newest(): number {
    return this.#newest;
  }

  /** Adds the record with the next number. */
  push(record: WireRecord): void {
    this.#newest = record.n;
    this.#bytes += sizeOf(record);
    while (this.#newest - this.#oldest >= this.#maxRecords || (this.#bytes > this.#maxBytes && this.#oldest < record.n))
      this.#forgetOldest();
    this.#records[record.n % this.#maxRecords] = record;
  }

  /** The next records after a number, at most `limit`. If some are forgotten, the first is a gap. */
  after(n: number, limit: number): WireRecord[] {
    const records: WireRecord[] = [];
    if (n + 1 < this.#oldest) {
      const { t } = this.#at(this.#oldest);
      records.push({ n: this.#oldest - 1, t, layer: 'gap', from: n + 1 });
    }
    for (let at = Math.max(n + 1, this.#oldest); at <= this.#newest && records.length < limit; at += 1)
      records.push(this.#at(at));
    return records;
  }

  #at(n: number): WireRecord {
    return this.#records[n % this.#maxRecords]!;
  }

  #forgetOldest(): void {
    this.#bytes -= sizeOf(this.#at(this.#oldest));
    this.#records[this.#oldest % this.#maxRecords] = undefined;
    this.#oldest += 1;
  }
}

function sizeOf(record: WireRecord): number {
  const range = 'range' in record ? record.range.length * 8 : 0;
  return RECORD_OVERHEAD + range + (record.layer === 'bytes' ? record.bytes.length : 0);
}
