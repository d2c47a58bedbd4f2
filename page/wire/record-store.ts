import { Spans } from '../../src/inspect/spans/spans.ts';
import type { Span } from '../../src/inspect/spans/span.ts';
import { addNames, noNames } from './known-names.ts';
import { Probes } from './probes.ts';
import { StreamBytes, textOf, type RangeBytes } from './stream-bytes.ts';
import { sizeOf, type WireRecord } from './wire-record.ts';

/** How much is kept. */
export interface StoreLimits {
  /** Default 100 000. */
  readonly maxRecords?: number;
  /** Default 64 MiB. */
  readonly maxBytes?: number;
}

/** A larger text is not searched, parsed or assigned to a call. Bytes. */
export const MAX_TEXT = 1024 * 1024;
const NO_BYTES: RangeBytes = { pieces: [], missing: 0 };

/** The newest records of the wire, and the calls that they belong to. */
export class RecordStore {
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  /** In the order of their numbers. */
  #records: WireRecord[] = [];
  #streams = new Map<string, StreamBytes>();
  /** The records of bytes that are in memory, in their order. */
  #withBytes: WireRecord[] = [];
  #firstWithBytes = 0;
  #bytes = 0;
  readonly #opens = new Map<number, WireRecord>();
  readonly #roles = new Set<string | undefined>();
  #hasApps = false;
  readonly #probes = new Probes();
  #spans: Spans;
  readonly names = noNames();

  constructor({ maxRecords = 100_000, maxBytes = 64 * 1024 * 1024 }: StoreLimits = {}) {
    this.#maxRecords = maxRecords;
    this.#maxBytes = maxBytes;
    this.#spans = new Spans({ maxSpans: Math.ceil(maxRecords / 2) });
  }

  /** The records that are kept, the oldest first. */
  get records(): readonly WireRecord[] {
    return this.#records;
  }

  /** The number of the newest record. 0 if there is none. */
  get newest(): number {
    return this.#records.at(-1)?.n ?? 0;
  }

  /** All calls, the oldest first. */
  get spans(): Spans {
    return this.#spans;
  }

  /** Whether a call was the probe of a client that found an older server: it failed, as is expected. */
  isProbe(span: Span): boolean {
    return this.#probes.has(span);
  }

  /** Adds records that follow the newest. */
  add(records: readonly WireRecord[]): void {
    for (const record of records) {
      this.#records.push(record);
      if (record.layer === 'bytes') this.#addBytes(record);
      else if (record.layer === 'open') {
        this.#opens.set(record.conn!, record);
        if (record.protocol === 'app') this.#hasApps = true;
        else this.#roles.add(record.role);
      }
      const text = (): string | undefined => this.text(record);
      if (!this.isAuthorization(record)) record.spans = this.#spans.add(record, text);
      this.#probes.add(record, this.openOf(record.conn));
      addNames(this.names, record, text);
    }
    // Forgets several at a time, because the rest of the array moves each time.
    const excess = this.#records.length - this.#maxRecords;
    if (excess > this.#maxRecords / 20) {
      for (const { layer, conn, content } of this.#records.splice(0, excess)) {
        if (layer === 'close') this.#opens.delete(conn!);
        // The oldest record with bytes. Small ones must not stay until they have `maxBytes` together.
        else if (content !== undefined) this.#forgetBytes();
      }
    }
    while (this.#bytes > this.#maxBytes) this.#forgetBytes();
  }

  /** Whether connections on both sides of the recording process were seen, as in a bridge. */
  get hasBothSides(): boolean {
    return this.#roles.size > 1;
  }

  /** Whether `sideOf` says more than one thing. */
  get hasSides(): boolean {
    return this.hasBothSides || this.#hasApps;
  }

  /** The record with a number, if it is kept. */
  find(n: number): WireRecord | undefined {
    const record = this.#records[firstFrom(this.#records, n)];
    return record?.n === n ? record : undefined;
  }

  /** The record that opened a connection, if it is kept. */
  openOf(conn: number | undefined): WireRecord | undefined {
    return conn === undefined ? undefined : this.#opens.get(conn);
  }

  /** Whether a record is of a request of Auth: such requests have secrets, and no rules of MCP. */
  isAuthorization({ conn }: WireRecord): boolean {
    return this.openOf(conn)?.purpose !== undefined;
  }

  /**
   * `app` for the frame of an app. In a bridge, the peer of a connection. Undefined elsewhere, and for a connection that
   * is no longer known.
   */
  sideOf(conn: number | undefined): 'client' | 'server' | 'app' | undefined {
    if (!this.hasSides) return undefined;
    const { role, protocol } = this.openOf(conn) ?? {};
    if (protocol === 'app') return 'app';
    if (!this.hasBothSides) return undefined;
    return role === 'client' ? 'server' : role === 'server' ? 'client' : undefined;
  }

  /** The bytes that a record is about. */
  bytes({ conn, dir, range }: WireRecord): RangeBytes {
    if (!range) return NO_BYTES;
    return this.#streams.get(`${conn} ${dir}`)?.read(range) ?? { pieces: [], missing: sizeOf(range) };
  }

  /** The bytes of a record as text. Undefined if it has none, if they are more than `max`, or no longer in memory. */
  text(record: WireRecord, max = MAX_TEXT): string | undefined {
    const { range } = record;
    if (!range || sizeOf(range) > max) return undefined;
    const { pieces, missing } = this.bytes(record);
    return missing > 0 ? undefined : textOf(pieces);
  }

  /** The first bytes of a record as text, as far as they are in memory. */
  head(record: WireRecord, size: number): string {
    const { range } = record;
    if (!range) return '';
    const [start = 0, end = 0] = range;
    const first = sizeOf(range) <= size ? range : [start, Math.min(end, start + size)];
    return textOf(this.bytes({ ...record, range: first }).pieces);
  }

  #addBytes(record: WireRecord): void {
    const key = `${record.conn} ${record.dir}`;
    let stream = this.#streams.get(key);
    if (!stream) this.#streams.set(key, (stream = new StreamBytes()));
    stream.push(record);
    this.#withBytes.push(record);
    this.#bytes += record.content!.length;
  }

  #forgetBytes(): void {
    const record = this.#withBytes[this.#firstWithBytes]!;
    this.#firstWithBytes += 1;
    if (this.#firstWithBytes > 10_000) {
      this.#withBytes = this.#withBytes.slice(this.#firstWithBytes);
      this.#firstWithBytes = 0;
    }
    this.#bytes -= record.content!.length;
    record.content = undefined;
    const key = `${record.conn} ${record.dir}`;
    const stream = this.#streams.get(key)!;
    stream.shift();
    if (stream.isEmpty) this.#streams.delete(key);
  }
}

/** The index of the first record with at least this number. */
export function firstFrom(records: readonly WireRecord[], n: number): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records[middle]!.n < n) low = middle + 1;
    else high = middle;
  }
  return low;
}
