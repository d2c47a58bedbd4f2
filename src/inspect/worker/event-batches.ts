import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEventSink } from '../wire-events.ts';
import { EVENT_HEAD, EventKind, writeEventHead } from './event-format.ts';

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

/**
 * Copies events into batches. If too much waits at the receiver, events are left out, and a gap stands for them. If the
 * opening of a connection was left out, it is sent before the connection's first event after the gap.
 */
export class EventBatches implements WireEventSink {
  readonly #receiver: BatchReceiver;
  #batch = Buffer.allocUnsafeSlow(BATCH);
  #used = 0;
  #timer: NodeJS.Timeout | undefined;
  /** How many events were left out since the last one that was written. */
  #missing = 0;
  /** Connections whose opening was left out, and those whose closing was left out. Both are sent later. */
  readonly #unopened = new Map<number, WireConnection>();
  readonly #unclosed: number[] = [];

  constructor(receiver: BatchReceiver) {
    this.#receiver = receiver;
  }

  open(t: number, conn: number, connection: WireConnection): void {
    if (this.#hasRoom(t)) this.#writeOpen(t, conn, connection);
    else this.#unopened.set(conn, connection);
  }

  bytes(t: number, conn: number, dir: WireStream, start: number, bytes: Buffer): void {
    if (!this.#hasRoom(t)) return;
    const unopened = this.#unopened.size > 0 && this.#unopened.get(conn);
    if (unopened) {
      this.#unopened.delete(conn);
      this.#writeOpen(t, conn, unopened);
    }
    this.#write(EventKind[dir], conn, t, start, bytes);
  }

  close(t: number, conn: number): void {
    const hasRoom = this.#hasRoom(t);
    if (this.#unopened.delete(conn)) return;
    if (hasRoom) this.#write(EventKind.close, conn, t, 0, NOTHING);
    else this.#unclosed.push(conn);
  }

  /** Sends everything. @param t the time. */
  end(t: number): void {
    if (this.#missing > 0) this.#writeGap(t);
    this.#send();
  }

  /** Whether an event may be written. If not, it counts as missing. */
  #hasRoom(t: number): boolean {
    const { waiting, maxWaiting } = this.#receiver;
    if (waiting() > maxWaiting) {
      this.#missing += 1;
      return false;
    }
    if (this.#missing > 0) this.#writeGap(t);
    return true;
  }

  #writeGap(t: number): void {
    this.#write(EventKind.gap, 0, t, this.#missing, NOTHING);
    this.#missing = 0;
    for (const conn of this.#unclosed.splice(0)) this.#write(EventKind.close, conn, t, 0, NOTHING);
  }

  #writeOpen(t: number, conn: number, { protocol, role, peer }: WireConnection): void {
    this.#write(EventKind.open, conn, t, 0, Buffer.from(JSON.stringify({ protocol, role, peer })));
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
