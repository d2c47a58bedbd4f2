import type { ConnectionTap, WireConnection, Wiretap, WireStream } from '../transport/wiretap.ts';
import { readersFor, type StreamReader } from './layers.ts';
import type { Part, WireRecord } from './record.ts';
import { RecordRing } from './ring.ts';

/** How much of a capture is kept in memory. */
export interface CaptureOptions {
  /** Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Default 100 000. */
  readonly maxRecords?: number | undefined;
}

/** Which records to read. */
export interface RecordsOptions {
  /** The number of the last record that was read before. Default 0: from the first. */
  readonly after?: number | undefined;
  /** The most records of a batch. Default 1 000. A batch with 1 MiB of bytes ends earlier. */
  readonly batch?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** The most bytes of one record, so that a line of a recording has a limit. */
const MAX_RECORD = 64 * 1024;

/**
 * Records the bytes of connections and what is in them. Give it to transports as their `wiretap`. It keeps the newest
 * records in memory, and forgets the oldest.
 */
export class Capture implements Wiretap {
  /** When the capture began: the times of records count from here. */
  readonly started = new Date();
  readonly #origin = performance.now();
  readonly #ring: RecordRing;
  readonly #waiting = new Set<() => void>();
  #connections = 0;
  #closed = false;

  constructor(options: CaptureOptions = {}) {
    const { maxBytes = 64 * 1024 * 1024, maxRecords = 100_000 } = options;
    this.#ring = new RecordRing(maxRecords, maxBytes);
  }

  /** The number of the newest record. 0 if there is none. */
  get newest(): number {
    return this.#ring.newest;
  }

  /** Begins to record a connection. Called by transports. */
  open(connection: WireConnection): ConnectionTap {
    this.#connections += 1;
    const conn = this.#connections;
    this.#push({ n: this.#next, t: this.#now, layer: 'open', conn, ...connection });
    const create = readersFor(connection.protocol);
    const log: Log = {
      next: () => this.#next,
      now: () => this.#now,
      push: (record) => this.#push(record),
    };
    const streams = new Map<WireStream, StreamRecorder>();
    let open = true;
    return {
      bytes: (dir, chunk) => {
        if (!open || this.#closed) return;
        let stream = streams.get(dir);
        if (!stream) streams.set(dir, (stream = new StreamRecorder(conn, dir, create, log)));
        stream.push(chunk);
      },
      close: () => {
        if (!open) return;
        open = false;
        for (const stream of streams.values()) stream.end();
        this.#push({ n: this.#next, t: this.#now, layer: 'close', conn });
      },
    };
  }

  /**
   * Reads the records, first those that are kept and then those that come, until the capture is closed. A reader that is
   * slower than the traffic costs no memory: it gets a `gap` record instead of what was forgotten before it was read.
   */
  async *records(options: RecordsOptions = {}): AsyncGenerator<readonly WireRecord[], void> {
    const { batch = 1000, signal } = options;
    let { after = 0 } = options;
    while (!signal?.aborted) {
      const records = this.#ring.after(after, batch);
      const last = records.at(-1);
      if (last) {
        after = last.n;
        yield records;
      } else if (this.#closed) return;
      else await this.#more(signal);
    }
  }

  /** Ends the capture. Readers get what is left. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** The number of the next record. */
  get #next(): number {
    return this.#ring.newest + 1;
  }

  get #now(): number {
    return Math.round((performance.now() - this.#origin) * 1000);
  }

  #push(record: WireRecord): void {
    if (this.#closed) return;
    this.#ring.push(record);
    if (this.#waiting.size > 0) this.#wake();
  }

  /** Resolves when there is another record. */
  #more(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      signal?.addEventListener('abort', done);
      this.#waiting.add(done);
    });
  }

  #wake(): void {
    for (const done of this.#waiting) done();
  }
}

/** Where a stream puts its records. */
interface Log {
  next(): number;
  now(): number;
  push(record: WireRecord): void;
}

/** Records one stream: its bytes, then what they complete. */
class StreamRecorder {
  readonly #conn: number;
  readonly #dir: WireStream;
  readonly #log: Log;
  readonly #reader: StreamReader;
  #offset = 0;
  #parts: Part[] = [];
  #secret: number[] = [];

  constructor(conn: number, dir: WireStream, create: ReturnType<typeof readersFor>, log: Log) {
    this.#conn = conn;
    this.#dir = dir;
    this.#log = log;
    this.#reader = create(dir, {
      onpart: (part) => this.#parts.push(part),
      onsecret: (start, end) => this.#secret.push(start, end),
    });
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; at += MAX_RECORD) this.#pushBytes(chunk.subarray(at, at + MAX_RECORD));
  }

  end(): void {
    this.#reader.end();
    this.#pushParts(this.#log.now());
  }

  #pushBytes(chunk: Buffer): void {
    const bytes = Buffer.from(chunk);
    const start = this.#offset;
    this.#offset += bytes.length;
    const t = this.#log.now();
    this.#reader.push(bytes);
    const secret = this.#secret.length > 0 ? this.#secret : undefined;
    if (secret) this.#secret = [];
    const [conn, dir, n] = [this.#conn, this.#dir, this.#log.next()];
    this.#log.push({ n, t, conn, dir, layer: 'bytes', range: [start, this.#offset], secret, bytes });
    this.#pushParts(t);
  }

  #pushParts(t: number): void {
    const [conn, dir, parts] = [this.#conn, this.#dir, this.#parts];
    if (parts.length === 0) return;
    this.#parts = [];
    for (const { layer, range, exchange, note, kind, id, method } of parts) {
      // Each member by itself: all records have one shape, and that is faster than a copy of what is there.
      const n = this.#log.next();
      this.#log.push({ n, t, conn, dir, layer, range, exchange, note, kind, id, method });
    }
  }
}
