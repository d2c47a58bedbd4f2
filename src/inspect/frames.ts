import { MessageReader } from './message-reader.ts';
import { Pieces } from './pieces.ts';
import type { OnPart } from './record.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const DATA = Buffer.from('data:');
/** The state of a line that is not a `data` line. */
const OTHER = -1;

/**
 * Finds server-sent events and comments in the bytes of an event stream (HTML standard, section 9.2.6), and the
 * messages in their data.
 */
export class FrameReader {
  readonly #onpart: OnPart;
  readonly #frame = new Pieces();
  readonly #message = new MessageReader();
  /** How many bytes of a byte order mark were read at the start. */
  #mark = 0;
  /** Whether the line has any bytes. */
  #empty = true;
  /** How many bytes of `data: ` the line begins with so far. */
  #field = 0;
  /** The last byte, if it ended a line. */
  #lineEnd: number | undefined;
  /**
   * Set when the last byte was a carriage return that ended a frame: a line feed after it belongs to the same line end.
   * `frame`: the frame is not reported yet. `nothing`: it is.
   */
  #open: 'none' | 'frame' | 'nothing' = 'none';

  constructor(onpart: OnPart) {
    this.#onpart = onpart;
  }

  /** @param offset where the bytes begin in their stream. Other bytes may lie between those of two calls. */
  push(chunk: Buffer, offset: number): void {
    let at = this.#skipMark(chunk, offset);
    let feed = -2;
    let back = -2;
    while (at < chunk.length) {
      if (this.#open !== 'none') at += this.#afterFrame(chunk[at]!, offset + at);
      if (at >= chunk.length) return;
      // A search that finds nothing reads to the end of the chunk, so its result is kept.
      if (feed !== -1 && feed < at) feed = chunk.indexOf(LINE_FEED, at);
      if (back !== -1 && back < at) back = chunk.indexOf(CARRIAGE_RETURN, at);
      const end = feed === -1 ? back : back === -1 ? feed : Math.min(feed, back);
      if (end === -1) return this.#content(chunk.subarray(at), offset + at);
      this.#content(chunk.subarray(at, end), offset + at);
      this.#endLine(chunk[end]!, offset + end);
      at = end + 1;
    }
  }

  /** There are no more bytes. */
  end(): void {
    if (this.#open === 'frame') this.#finish();
    else if (!this.#frame.isEmpty) this.#onpart({ layer: 'frame', ...this.#frame.take(), note: 'cut off' });
  }

  #skipMark(chunk: Buffer, offset: number): number {
    let at = 0;
    while (this.#mark < BYTE_ORDER_MARK.length && at < chunk.length) {
      if (chunk[at] !== BYTE_ORDER_MARK[this.#mark]) {
        // The bytes that looked like a mark are the beginning of a line.
        if (this.#mark > 0) [this.#empty, this.#field] = [false, OTHER];
        this.#mark = BYTE_ORDER_MARK.length;
        return at;
      }
      this.#frame.add(offset + at, offset + at + 1);
      this.#mark += 1;
      at += 1;
    }
    return at;
  }

  /**
   * Reads the byte after a frame that ended with a carriage return, if it is a line feed. Returns how many bytes it
   * read.
   */
  #afterFrame(byte: number, offset: number): number {
    const open = this.#open;
    this.#open = 'none';
    const feeds = byte === LINE_FEED ? 1 : 0;
    if (open === 'frame') {
      this.#frame.add(offset, offset + feeds);
      this.#finish();
    }
    return feeds;
  }

  #content(bytes: Buffer, offset: number): void {
    if (bytes.length === 0) return;
    this.#frame.add(offset, offset + bytes.length);
    this.#empty = false;
    this.#lineEnd = undefined;
    let at = 0;
    for (; at < bytes.length && this.#field !== OTHER && this.#field < DATA.length; at += 1)
      this.#field = bytes[at] === DATA[this.#field] ? this.#field + 1 : OTHER;
    if (at === bytes.length || this.#field === OTHER) return;
    if (this.#field === DATA.length) {
      this.#field += 1;
      if (bytes[at] === SPACE) at += 1;
    }
    if (at < bytes.length) this.#message.push(bytes.subarray(at), offset + at);
  }

  #endLine(byte: number, offset: number): void {
    const before = this.#lineEnd;
    this.#lineEnd = byte;
    // This line feed is the second half of a line end.
    if (byte === LINE_FEED && before === CARRIAGE_RETURN) {
      if (!this.#frame.isEmpty) this.#frame.add(offset, offset + 1);
      return;
    }
    // An empty line outside a frame is part of no frame.
    if (this.#empty && this.#frame.isEmpty) return;
    this.#frame.add(offset, offset + 1);
    const isLast = this.#empty;
    this.#empty = true;
    this.#field = 0;
    if (!isLast) return;
    if (byte === LINE_FEED) return this.#finish();
    // The frame may end with this byte or the next. A stream whose lines end with carriage returns alone must not wait
    // for the next byte, which may come much later.
    this.#open = before === CARRIAGE_RETURN ? 'nothing' : 'frame';
    if (this.#open === 'nothing') this.#finish();
  }

  #finish(): void {
    this.#lineEnd = undefined;
    this.#onpart({ layer: 'frame', ...this.#frame.take() });
    const message = this.#message.take();
    if (message) this.#onpart(message);
  }
}
