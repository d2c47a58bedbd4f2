import type { WireEvent } from '../record.ts';
import { leaveOutEvents, readEvents } from './event-format.ts';
import { LeftOutEvents } from './left-out-events.ts';

const MAX_BYTES = 64 * 1024 * 1024;
/** The approximate memory of a batch besides its bytes. */
const BATCH_OVERHEAD = 300;

/** Keeps the newest batches of events as they came. Finding records in them costs much more. */
export class Backlog {
  readonly #maxBytes: number;
  readonly #batches: Buffer[] = [];
  #bytes = 0;
  readonly #leftOut = new LeftOutEvents();

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** Adds a batch, and drops the oldest if there are too many. */
  add(batch: Buffer): void {
    this.#batches.push(batch);
    this.#bytes += batch.length + BATCH_OVERHEAD;
    while (this.#bytes > this.#maxBytes) leaveOutEvents(this.#shift()!, this.#leftOut);
  }

  /** Takes the events of the oldest batch. Undefined if there is none. */
  take(): readonly WireEvent[] | undefined {
    const batch = this.#shift();
    if (!batch) return undefined;
    const events = Array.from(readEvents(batch));
    return this.#leftOut.isEmpty ? events : events.flatMap((event) => this.#leftOut.before(event));
  }

  #shift(): Buffer | undefined {
    const batch = this.#batches.shift();
    if (batch) this.#bytes -= batch.length + BATCH_OVERHEAD;
    return batch;
  }
}
