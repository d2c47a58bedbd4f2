import { Waiters } from '../../base/waiters.ts';
import { Layering } from '../layering.ts';
import type { WireEvent, WireRecord } from '../record.ts';
import { Backlog } from './backlog.ts';

/**
 * The records of batches, without parts, for one reader. Each record is made when it is read, and can be forgotten right
 * after that: to collect records that wait costs the garbage collector more than all else that is done for them.
 */
export class RecordedBatches {
  readonly started: Date;
  readonly #backlog = new Backlog();
  readonly #reader = new Waiters();
  #closed = false;

  constructor(started: Date) {
    this.started = started;
  }

  add(batch: Buffer): void {
    if (this.#closed) return;
    this.#backlog.add(batch);
    this.#reader.wake();
  }

  /** To be read to its end before the next one is requested, and without waiting. */
  async *records(): AsyncGenerator<Iterable<WireRecord>, void> {
    let record: WireRecord;
    const layering = new Layering((next) => (record = next), false);
    const recordsOf = function* (events: Iterable<WireEvent>): Generator<WireRecord, void> {
      for (const event of events) {
        layering.add(event);
        yield record;
      }
    };
    for (;;) {
      const events = this.#backlog.take();
      if (events) yield recordsOf(events);
      else if (this.#closed) return;
      else await this.#reader.wait({});
    }
  }

  /** What was added is still read. */
  close(): void {
    this.#closed = true;
    this.#reader.wake();
  }
}
