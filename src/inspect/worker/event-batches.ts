import type { WireConnection, WireStream } from '../../transport/wiretap.ts';
import type { WireEvent } from '../record.ts';
import type { WireEventSink } from '../wire-events.ts';
import { BATCH, type BatchSlots } from './batch-slots.ts';
import { EVENT_HEAD, eventSize, kindOf, writeEvent, writeEventHead } from './event-format.ts';
import { LeftOutEvents } from './left-out-events.ts';

/** How long an event waits for others, in milliseconds. Each batch wakes the receiver, which costs more than a copy. */
const DELAY = 20;
/** The memory in which events are written. It stays in the caches of the processor, and the largest event fits in. */
const STAGE = 128 * 1024;
/** The most bytes of a character. */
const MAX_CHARACTER = 3;

/** Copies events into batches. If no batch is free, because the receiver is slower, events are left out. */
export class EventBatches implements WireEventSink {
  readonly #slots: BatchSlots;
  readonly #post: (slot: number, length: number) => void;
  /** The batch that is being written. */
  #slot: number | undefined;
  /** How many bytes of it are in its slot, and how many follow on the stage. */
  #filled = 0;
  #used = 0;
  readonly #stage = Buffer.allocUnsafeSlow(STAGE);
  #timer: NodeJS.Timeout | undefined;
  readonly #leftOut = new LeftOutEvents();
  #stopped = false;
  #isRead = false;

  /** @param post tells the receiver to read a batch. */
  constructor(slots: BatchSlots, post: (slot: number, length: number) => void) {
    this.#slots = slots;
    this.#post = post;
  }

  open(t: number, conn: number, { protocol, role, peer }: WireConnection): void {
    this.#add({ t, layer: 'open', conn, protocol, role, peer });
  }

  bytes(t: number, conn: number, dir: WireStream, start: number, bytes: Buffer): void {
    if (this.#leftOut.isEmpty && this.#hasRoom(eventSize(bytes.length))) {
      this.#stage.set(bytes, this.#used + EVENT_HEAD);
      this.#finish(kindOf(dir), conn, t, start, bytes.length);
    } else this.#add({ t, conn, dir, layer: 'bytes', range: [start, start + bytes.length], bytes });
  }

  text(t: number, conn: number, dir: WireStream, start: number, text: string, encoding: BufferEncoding): number {
    if (this.#leftOut.isEmpty && this.#hasRoom(eventSize(text.length * MAX_CHARACTER))) {
      const length = this.#stage.write(text, this.#used + EVENT_HEAD, encoding);
      this.#finish(kindOf(dir), conn, t, start, length);
      return length;
    }
    const bytes = Buffer.from(text, encoding);
    this.bytes(t, conn, dir, start, bytes);
    return bytes.length;
  }

  close(t: number, conn: number): void {
    this.#add({ t, layer: 'close', conn });
  }

  /** Whether anybody reads what is sent. If not, only full batches are sent. Default false. */
  set isRead(isRead: boolean) {
    this.#isRead = isRead;
    if (isRead) this.send();
  }

  /** Sends what was written. */
  send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#slot === undefined) return;
    this.#fill();
    this.#post(this.#slot, this.#filled);
    this.#slot = undefined;
    this.#filled = 0;
  }

  /**
   * Sends everything, and stops.
   *
   * @param t the time.
   * @returns a last batch, of the events for which there was no room.
   */
  end(t: number): Buffer {
    this.send();
    this.stop();
    return Buffer.concat(this.#leftOut.take(t).map((event) => writeEvent(event)));
  }

  /** The receiver has ended, and nothing is needed any more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped = true;
  }

  #add(event: WireEvent): void {
    if (this.#stopped) return;
    let fits = true;
    for (const each of this.#leftOut.before(event)) {
      const bytes = writeEvent(each);
      fits &&= this.#hasRoom(bytes.length);
      if (!fits) this.#leftOut.add(each);
      else {
        this.#stage.set(bytes, this.#used);
        this.#advance(bytes.length);
      }
    }
  }

  /** Makes room in a batch. False if none is free. */
  #hasRoom(size: number): boolean {
    if (this.#slot !== undefined && this.#filled + this.#used + size <= BATCH) {
      if (this.#used + size > STAGE) this.#fill();
      return true;
    }
    this.send();
    if (!this.#stopped) this.#slot = this.#slots.take();
    return this.#slot !== undefined;
  }

  /** Copies what is on the stage to the batch. */
  #fill(): void {
    this.#slots.at(this.#slot!).set(this.#stage.subarray(0, this.#used), this.#filled);
    this.#filled += this.#used;
    this.#used = 0;
  }

  #finish(kind: number, conn: number, t: number, place: number, length: number): void {
    writeEventHead(this.#stage, this.#used, kind, conn, t, place, length);
    this.#advance(eventSize(length));
  }

  #advance(size: number): void {
    this.#used += size;
    if (this.#isRead) this.#timer ??= setTimeout(() => this.#sendInTime(), DELAY);
  }

  /** A receiver that is slower gets full batches, so that all of them can wait. */
  #sendInTime(): void {
    if (this.#slots.used > 1) this.#timer!.refresh();
    else this.send();
  }
}
