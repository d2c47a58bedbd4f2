import { Waiters } from '../base/waiters.ts';
import { Layering } from './layering.ts';
import type { WireEvent, WireRecord } from './record.ts';
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
  /** The number of the last record that is already known. Default 0: start with the first. */
  readonly after?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** What a log is for. */
export interface RecordLogOptions extends CaptureOptions {
  /** Whether the parts that the upper layers find become records. */
  readonly parts: boolean;
  /** Whether records are dropped once they are read. Then there can be only one reader. */
  readonly once: boolean;
}

/** Keeps the newest records of what happens on the wire, for readers. */
export class RecordLog {
  readonly started: Date;
  readonly #ring: RecordRing;
  readonly #layering: Layering;
  readonly #readers = new Waiters();
  readonly #once: boolean;
  #closed = false;

  constructor(started: Date, options: RecordLogOptions) {
    const { maxBytes = 64 * 1024 * 1024, maxRecords = 100_000, parts, once } = options;
    this.started = started;
    this.#once = once;
    const ring = new RecordRing(maxRecords, maxBytes);
    this.#ring = ring;
    this.#layering = new Layering((record) => ring.push(record), parts);
  }

  get newest(): number {
    return this.#ring.newest;
  }

  /** Adds the records that follow from an event. Keeps its bytes without copying them. */
  add(event: WireEvent): void {
    if (this.#closed) return;
    this.#layering.add(event);
    this.#readers.wake();
  }

  async *records(options: RecordsOptions = {}): AsyncGenerator<readonly WireRecord[], void> {
    const { signal } = options;
    let { after = 0 } = options;
    while (!signal?.aborted) {
      const records = this.#ring.after(after);
      const last = records.at(-1);
      if (last) {
        after = last.n;
        yield records;
        if (this.#once) this.#ring.forget(after);
      } else if (this.#closed) return;
      else await this.#readers.wait({ signal });
    }
  }

  close(): void {
    this.#closed = true;
    this.#readers.wake();
  }
}
