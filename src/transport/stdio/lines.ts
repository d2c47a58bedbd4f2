import { constants, isUtf8 } from 'node:buffer';
import { MessageSkim, type Envelope } from './skim.ts';

/** What a reader finds, in the order in which it came. */
export interface LineSink {
  /** One line, without its line end; never empty. */
  line(text: string): void;
  /** A line that is not valid UTF-8 (2025-11-25, basic/transports: messages MUST be UTF-8). */
  invalidUtf8(): void;
  /** A line above the bound. Told once, as soon as it is known; the line itself is skipped. */
  tooLong(): void;
  /** The end of such a line. With this callback its envelope is read while it is skipped. */
  skipped?(envelope: Envelope): void;
  /** Such a line goes on far beyond the bound. Told once. */
  endless?(): void;
}

/** A line that is so many times as long as it may be is taken for one that never ends. */
const ENDLESS = 4;
const NEWLINE = 10;
const RETURN = 13;
/** A buffer that held a line larger than this is let go after it. */
const KEEP = 64 * 1024;

/**
 * Turns chunks of bytes into lines (2025-11-25, basic/transports: stdio). Takes `\r\n` for a line end too, ignores
 * empty lines, and never holds more than one line.
 */
export class LineReader {
  readonly #sink: LineSink;
  readonly #maxBytes: number;
  /** The start of a line whose end is yet to come: the first `#held` bytes of `#buffer`. */
  #buffer = Buffer.alloc(0);
  #held = 0;
  #skipping = false;
  /** Bytes of a line that is skipped, since it was found to be too long. */
  #passed = 0;
  #skim: MessageSkim | undefined;

  /** @param maxBytes the bound of one line, without its newline. */
  constructor(sink: LineSink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = Math.min(maxBytes, constants.MAX_STRING_LENGTH);
  }

  /** Takes in the next bytes. They are read before it returns, and not kept. */
  push(bytes: Uint8Array): void {
    let chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#held > 0 || this.#skipping) {
      const end = chunk.indexOf(NEWLINE);
      this.#hold(end === -1 ? chunk : chunk.subarray(0, end));
      if (end === -1) return;
      this.#finish();
      chunk = chunk.subarray(end + 1);
    }
    const end = chunk.lastIndexOf(NEWLINE);
    if (end !== -1) this.#complete(chunk.subarray(0, end));
    if (end + 1 < chunk.length) this.#hold(chunk.subarray(end + 1));
  }

  /** There are no more bytes: what is held is the last line, though it has no line end. */
  end(): void {
    this.#finish();
  }

  /** Whole lines, without the end of the last. They are decoded in one go where nothing is wrong with any of them. */
  #complete(lines: Buffer): void {
    if (lines.length > this.#maxBytes || !isUtf8(lines)) {
      let start = 0;
      for (let end = lines.indexOf(NEWLINE); end !== -1; end = lines.indexOf(NEWLINE, start)) {
        this.#single(lines.subarray(start, end));
        start = end + 1;
      }
      return this.#single(lines.subarray(start));
    }
    const text = lines.toString();
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#emit(text, start, end);
      start = end + 1;
    }
    this.#emit(text, start, text.length);
  }

  #single(line: Buffer): void {
    if (line.length > this.#maxBytes) {
      this.#skip(line);
      this.#skipped();
    } else if (!isUtf8(line)) this.#sink.invalidUtf8();
    else {
      const text = line.toString();
      this.#emit(text, 0, text.length);
    }
  }

  #emit(text: string, start: number, end: number): void {
    if (text.charCodeAt(end - 1) === RETURN) end -= 1;
    if (end > start) this.#sink.line(text.slice(start, end));
  }

  /** Keeps the bytes of a line that goes on. The buffer doubles, so that a line in a million chunks is copied in linear time. */
  #hold(bytes: Buffer): void {
    if (this.#skipping) return this.#pass(bytes);
    const size = this.#held + bytes.length;
    if (size > this.#maxBytes) {
      const held = this.#buffer.subarray(0, this.#held);
      this.#release(0);
      return this.#skip(held, bytes);
    }
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(Math.max(size, 2 * this.#buffer.length, 1024), this.#maxBytes));
      this.#buffer.copy(larger, 0, 0, this.#held);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#held);
    this.#held = size;
  }

  #pass(bytes: Buffer): void {
    const limit = ENDLESS * this.#maxBytes;
    if (this.#passed > limit) return;
    this.#passed += bytes.length;
    this.#skim?.push(bytes);
    if (this.#passed > limit) this.#sink.endless?.();
  }

  #finish(): void {
    if (this.#skipping) {
      this.#skipped();
    } else if (this.#held > 0) {
      const line = this.#buffer.subarray(0, this.#held);
      this.#release(KEEP);
      this.#single(line);
    }
  }

  #skip(...parts: readonly Uint8Array[]): void {
    this.#skipping = true;
    this.#sink.tooLong();
    if (!this.#sink.skipped) return;
    this.#skim = new MessageSkim();
    for (const part of parts) this.#skim.push(part);
  }

  #skipped(): void {
    const skim = this.#skim;
    this.#skipping = false;
    this.#passed = 0;
    this.#skim = undefined;
    if (skim) this.#sink.skipped?.(skim.envelope);
  }

  #release(keep: number): void {
    this.#held = 0;
    if (this.#buffer.length > keep) this.#buffer = Buffer.alloc(0);
  }
}
