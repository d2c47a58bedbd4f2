import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';
import type { WireEventSink } from '../wire-events.ts';
import { EVENT_HEAD, EventKind, writeEventHead } from './event-format.ts';
import { LeftOutEvents } from './left-out-events.ts';

/** The size of a batch. The largest event has 64 KiB. */
const BATCH = 256 * 1024;
/** How long an event waits for others, in milliseconds. Each batch wakes the receiver, which costs more than a copy. */
const DELAY = 20;

/** Where batches go. */
export interface BatchReceiver {
  /** Takes a batch, and may keep its memory. */
  readonly post: (batch: Buffer) => void;
  /** How many bytes of batches the receiver has not read yet. */
  readonly waiting: () => number;
  /** The most bytes that may wait. */
  readonly maxWaiting: number;
}

const NOTHING = Buffer.alloc(0);

/** Copies events into batches. If too much waits at the receiver, events are left out. */
export class EventBatches implements WireEventSink {
  readonly #receiver: BatchReceiver;
  #batch = Buffer.allocUnsafeSlow(BATCH);
  #used = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #leftOut = new LeftOutEvents();

  constructor(receiver: BatchReceiver) {
    this.#receiver = receiver;
  }

  open(t: number, conn: number, { protocol, role, peer }: WireConnection): void {
    this.#add({ t, layer: 'open', conn, protocol, role, peer });
  }

  bytes(t: number, conn: number, dir: WireStream, start: number, bytes: Buffer): void {
    if (this.#hasRoom && this.#leftOut.isEmpty) this.#write(EventKind[dir], conn, t, start, bytes);
    else this.#add({ t, conn, dir, layer: 'bytes', range: [start, start + bytes.length], bytes });
  }

  close(t: number, conn: number): void {
    this.#add({ t, layer: 'close', conn });
  }

  /** Sends everything. @param t the time. */
  end(t: number): void {
    for (const event of this.#leftOut.take(t)) this.#writeEvent(event);
    this.#send();
  }

  get #hasRoom(): boolean {
    const { waiting, maxWaiting } = this.#receiver;
    return waiting() <= maxWaiting;
  }

  #add(event: WireEvent): void {
    if (this.#hasRoom) for (const each of this.#leftOut.before(event)) this.#writeEvent(each);
    else this.#leftOut.add(event);
  }

  #writeEvent(event: WireEvent): void {
    const { t, layer } = event;
    if (layer === 'gap') return this.#write(EventKind.gap, 0, t, event.count, NOTHING);
    const { conn } = event;
    if (layer === 'close') this.#write(EventKind.close, conn, t, 0, NOTHING);
    else if (layer === 'bytes') this.#write(EventKind[event.dir], conn, t, event.range[0], event.bytes);
    else {
      const { protocol, role, peer } = event;
      this.#write(EventKind.open, conn, t, 0, Buffer.from(JSON.stringify({ protocol, role, peer })));
    }
  }

  #write(kind: number, conn: number, t: number, place: number, data: Buffer): void {
    const size = EVENT_HEAD + data.length;
    if (this.#used + size > BATCH) this.#send();
    writeEventHead(this.#batch, this.#used, kind, conn, t, place, data.length);
    this.#batch.set(data, this.#used + EVENT_HEAD);
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
      // The receiver may keep the batch for long, so a small batch gets a buffer of its own size.
      const copy = Buffer.allocUnsafeSlow(this.#used);
      copy.set(written);
      this.#receiver.post(copy);
    }
    this.#used = 0;
  }
}
