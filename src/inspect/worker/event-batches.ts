import type { WireEvent } from '../record.ts';
import { encodeEvent, sizeOf, writeEvent, type EncodedEvent } from './event-format.ts';

/** The size of a batch. The largest event has 64 KiB. */
const BATCH = 128 * 1024;
/** How many milliseconds an event waits at most for others. Each batch wakes the receiver, which takes longer than a copy. */
const DELAY = 10;

/** Where batches go. */
export interface BatchReceiver {
  /** Takes a batch, whose memory it may keep. */
  readonly post: (batch: Buffer) => void;
  /** How many bytes of batches it has not read yet. */
  readonly waiting: () => number;
  /** The most that may wait. */
  readonly maxWaiting: number;
}

type Opened = Extract<WireEvent, { layer: 'open' }>;

/**
 * Copies events into batches. If too much waits at the receiver, events are left out, and a gap says so. A connection
 * that opened meanwhile opens with its first event after the gap.
 */
export class EventBatches {
  readonly #receiver: BatchReceiver;
  #batch = Buffer.allocUnsafeSlow(BATCH);
  #used = 0;
  #timer: NodeJS.Timeout | undefined;
  /** How many events were left out since the last one that was not. */
  #missing = 0;
  /** Connections whose opening or closing was left out, and which are not forgotten. */
  readonly #unopened = new Map<number, Opened>();
  readonly #unclosed: number[] = [];

  constructor(receiver: BatchReceiver) {
    this.#receiver = receiver;
  }

  add(event: WireEvent): void {
    if (this.#receiver.waiting() > this.#receiver.maxWaiting) return this.#leaveOut(event);
    if (this.#missing > 0) this.#writeGap(event.t);
    if (this.#unopened.size > 0 && 'conn' in event) {
      const opened = this.#unopened.get(event.conn);
      this.#unopened.delete(event.conn);
      if (opened && event.layer === 'close') return;
      if (opened) this.#write(encodeEvent({ ...opened, t: event.t }));
    }
    this.#write(encodeEvent(event));
  }

  /** Sends everything. @param t the time. */
  end(t: number): void {
    if (this.#missing > 0) this.#writeGap(t);
    this.#send();
  }

  #leaveOut(event: WireEvent): void {
    this.#missing += 1;
    if (event.layer === 'open') this.#unopened.set(event.conn, event);
    if (event.layer === 'close' && !this.#unopened.delete(event.conn)) this.#unclosed.push(event.conn);
  }

  #writeGap(t: number): void {
    this.#write(encodeEvent({ t, layer: 'gap', count: this.#missing }));
    this.#missing = 0;
    for (const conn of this.#unclosed.splice(0)) this.#write(encodeEvent({ t, layer: 'close', conn }));
  }

  #write(event: EncodedEvent): void {
    const size = sizeOf(event);
    if (this.#used + size > BATCH) this.#send();
    writeEvent(this.#batch, this.#used, event);
    this.#used += size;
    this.#timer ??= setTimeout(() => this.#send(), DELAY);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#used === 0) return;
    const written = this.#batch.subarray(0, this.#used);
    if (this.#used > BATCH / 2) {
      this.#batch = Buffer.allocUnsafeSlow(BATCH);
      this.#receiver.post(written);
    } else {
      // The receiver may keep it for long, so it must not hold much more memory than it needs.
      const copy = Buffer.allocUnsafeSlow(this.#used);
      copy.set(written);
      this.#receiver.post(copy);
    }
    this.#used = 0;
  }
}
