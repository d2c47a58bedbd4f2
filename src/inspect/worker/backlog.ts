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

  /** Takes the events of the oldest batch. They are to be read before the next call. Undefined if there is none. */
  take(): Iterable<WireEvent> | undefined {
    const batch = this.#shift();
    return batch && this.#eventsOf(batch);
  }

  *#eventsOf(batch: Buffer): Generator<WireEvent, void> {
    for (const event of readEvents(batch)) {
      if (this.#leftOut.isEmpty) yield event;
      else yield* this.#leftOut.before(event);
    }
  }

  #shift(): Buffer | undefined {
    const batch = this.#batches.shift();
    if (batch) this.#bytes -= batch.length + BATCH_OVERHEAD;
    return batch;
  }
}
