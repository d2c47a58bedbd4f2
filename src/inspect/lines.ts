import { MessageReader } from './message-reader.ts';
import type { OnPart } from './record.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Finds the lines of stdio or stderr in the bytes of a stream, and the messages in lines of stdio. */
export class LineReader {
  readonly #layer: 'line' | 'stderr';
  readonly #onpart: OnPart;
  #message: MessageReader | undefined;
  /** What is wrong with the line. */
  #note: string | undefined;
  /** Where the line begins, and where the bytes that were read end. */
  #start = 0;
  #end = 0;
  /** Whether the last byte was a carriage return. It belongs to the line end if a line feed follows. */
  #returned = false;

  constructor(layer: 'line' | 'stderr', onpart: OnPart) {
    this.#layer = layer;
    this.#onpart = onpart;
    this.#message = layer === 'line' ? new MessageReader() : undefined;
  }

  push(chunk: Buffer): void {
    let at = 0;
    for (let feed = chunk.indexOf(LINE_FEED); feed !== -1; feed = chunk.indexOf(LINE_FEED, at)) {
      this.#content(chunk, at, feed);
      // A carriage return before the line feed belongs to the line end.
      this.#returned = false;
      this.#end += 1;
      this.#finish();
      at = feed + 1;
    }
    this.#content(chunk, at, chunk.length);
  }

  /** The next bytes are missing, so the lines before and after them may be incomplete. */
  skip(count: number): void {
    if (this.#end > this.#start) this.#finish('cut off');
    this.#message &&= new MessageReader();
    this.#returned = false;
    this.#end += count;
    this.#start = this.#end;
    this.#note = 'cut off';
  }

  /** There are no more bytes. */
  end(): void {
    if (this.#end === this.#start) return;
    this.#keepReturn();
    this.#finish('without a line end');
  }

  #content(chunk: Buffer, from: number, to: number): void {
    if (from === to) return;
    this.#keepReturn();
    this.#returned = chunk[to - 1] === CARRIAGE_RETURN;
    this.#message?.push(chunk.subarray(from, this.#returned ? to - 1 : to), this.#end);
    this.#end += to - from;
  }

  /** The carriage return that was held back is not part of a line end, so it belongs to the message. */
  #keepReturn(): void {
    if (this.#returned) this.#message?.push(Buffer.of(CARRIAGE_RETURN), this.#end - 1);
    this.#returned = false;
  }

  #finish(note = this.#note): void {
    this.#note = undefined;
    const range = [this.#start, this.#end];
    this.#start = this.#end;
    this.#onpart({ layer: this.#layer, range, note });
    const message = this.#message?.take();
    if (message) this.#onpart(message);
  }
}
