import type { WireRecord } from './record.ts';

/** The approximate memory of a record besides its bytes. */
const RECORD_OVERHEAD = 200;
/** After this many records or bytes, a batch is complete. */
const BATCH_RECORDS = 1000;
const BATCH_BYTES = 1024 * 1024;

/** Keeps the newest records, and drops the oldest when there are too many. */
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

  /** Adds a record with a higher number. Only a gap may leave out numbers, which it stands for. */
  push(record: WireRecord): void {
    if (this.#oldest > this.#newest) this.#oldest = record.n;
    this.#newest = record.n;
    this.#bytes += sizeOf(record);
    while (this.#newest - this.#oldest >= this.#maxRecords || (this.#bytes > this.#maxBytes && this.#oldest < record.n))
      this.#forgetOldest();
    this.#records[record.n % this.#maxRecords] = record;
  }

  /** The next records after a number, at most 1,000 and about 1 MiB. If some were dropped, the first is a gap. */
  after(n: number): WireRecord[] {
    const records: WireRecord[] = [];
    const oldest = this.#at(this.#oldest);
    const start = oldest?.layer === 'gap' ? oldest.from : this.#oldest;
    if (oldest && n + 1 < start) records.push({ n: start - 1, t: oldest.t, layer: 'gap', from: n + 1 });
    let bytes = 0;
    for (let at = Math.max(n + 1, this.#oldest); at <= this.#newest; at += 1) {
      if (records.length >= BATCH_RECORDS || bytes > BATCH_BYTES) break;
      const record = this.#at(at);
      if (!record) continue;
      bytes += sizeOf(record);
      records.push(record);
    }
    return records;
  }

  /** Undefined for a number that a gap stands for. */
  #at(n: number): WireRecord | undefined {
    const record = this.#records[n % this.#maxRecords];
    return record?.n === n ? record : undefined;
  }

  #forgetOldest(): void {
    this.#bytes -= sizeOf(this.#at(this.#oldest)!);
    this.#records[this.#oldest % this.#maxRecords] = undefined;
    do this.#oldest += 1;
    while (this.#oldest < this.#newest && !this.#at(this.#oldest));
  }
}

function sizeOf(record: WireRecord): number {
  const range = 'range' in record ? record.range.length * 8 : 0;
  return RECORD_OVERHEAD + range + (record.layer === 'bytes' ? record.bytes.length : 0);
}
