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
  /** Further events. Their records are found only when a reader has read all others. Default none. */
  readonly backlog?: { take(): Iterable<WireEvent> | undefined; readonly isEmpty: boolean } | undefined;
  /** Called when a reader begins or ends, with 1 or -1. */
  readonly onreader?: ((change: 1 | -1) => void) | undefined;
}

/** Keeps the newest records of what happens on the wire, for readers. */
export class RecordLog {
  readonly started: Date;
  readonly #ring: RecordRing;
  readonly #layering: Layering;
  readonly #readers = new Waiters();
  readonly #backlog: RecordLogOptions['backlog'];
  readonly #onreader: RecordLogOptions['onreader'];
  #closed = false;

  constructor(started: Date, options: RecordLogOptions = {}) {
    const { maxBytes = 64 * 1024 * 1024, maxRecords = 100_000, backlog, onreader } = options;
    this.started = started;
    this.#backlog = backlog;
    this.#onreader = onreader;
    const ring = new RecordRing(maxRecords, maxBytes);
    this.#ring = ring;
    this.#layering = new Layering((record) => ring.push(record), true);
  }

  /** The number of the newest record. Infinity while there are events from which no records have been made yet. */
  get newest(): number {
    return this.#backlog?.isEmpty === false ? Infinity : this.#ring.newest;
  }

  /** Adds the records that follow from an event. Keeps its bytes without copying them. */
  add(event: WireEvent): void {
    if (this.#closed) return;
    this.#layering.add(event);
    this.#readers.wake();
  }

  /** The next records after a number, as far as they are in memory: at most 1,000 and about 1 MiB. */
  after(n: number): readonly WireRecord[] {
    return this.#ring.after(n);
  }

  /** To be called after events were added to the backlog. */
  wake(): void {
    this.#readers.wake();
  }

  async *records(options: RecordsOptions = {}): AsyncGenerator<readonly WireRecord[], void> {
    const { signal } = options;
    let { after = 0 } = options;
    this.#onreader?.(1);
    try {
      while (!signal?.aborted) {
        const records = this.#ring.after(after);
        const last = records.at(-1);
        if (last) {
          after = last.n;
          yield records;
        } else if (this.#layerBacklog()) continue;
        else if (this.#closed) return;
        else await this.#readers.wait({ signal });
      }
    } finally {
      this.#onreader?.(-1);
    }
  }

  close(): void {
    this.#closed = true;
    this.#readers.wake();
  }

  #layerBacklog(): boolean {
    const events = this.#backlog?.take();
    for (const event of events ?? []) this.#layering.add(event);
    return events !== undefined;
  }
}
