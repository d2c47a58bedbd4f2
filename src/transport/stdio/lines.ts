import { constants, isUtf8 } from 'node:buffer';
import type { Holder } from '../../base/buffer-budget.ts';
import { COUNTED_FROM, receiveBudget } from '../../base/receive-budget.ts';
import { MAX_SEARCHED, MessageSkim, type Envelope } from '../../jsonrpc/skim.ts';

/** Receives what a `LineReader` finds, in order. */
export interface LineSink {
  /** One line, without its line end; never empty. */
  line(text: string): void;
  /** A line that is not valid UTF-8 (2025-11-25, basic/transports: messages MUST be UTF-8). */
  invalidUtf8(line: Uint8Array): void;
  /** A line above the limit. Called once, as soon as this is known. The line itself is skipped. */
  tooLong(): void;
  /** The end of such a line. If this callback is given, the envelope is read while the line is skipped. */
  skipped?(envelope: Envelope): void;
  /** A skipped line has reached four times the limit. Called once. */
  endless?(): void;
  /** The unfinished line was dropped, because those of all connections are too large together. */
  noRoom?(): void;
}

/** A line this many times as long as the limit counts as endless. */
const ENDLESS = 4;
const NEWLINE = 10;
const RETURN = 13;

/**
 * Splits chunks of bytes into lines (2025-11-25, basic/transports: stdio). `\r\n` ends a line too, and empty lines are
 * ignored. Buffers at most one line.
 */
export class LineReader implements Holder {
  held = 0;
  readonly #sink: LineSink;
  readonly #maxBytes: number;
  /** The first `#length` bytes of `#buffer` are the start of an incomplete line. */
  #buffer = Buffer.alloc(0);
  #length = 0;
  #skipping = false;
  /** The bytes of the skipped line after the limit. */
  #passed = 0;
  #skim: MessageSkim | undefined;

  /** @param maxBytes the most bytes of a line, without its newline. */
  constructor(sink: LineSink, maxBytes: number) {
    this.#sink = sink;
    this.#maxBytes = Math.min(maxBytes, constants.MAX_STRING_LENGTH);
  }

  /** Reads the next bytes. The caller may reuse them afterwards. */
  push(bytes: Uint8Array): void {
    let chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // Stryker disable next-line ConditionalExpression,EqualityOperator: saves a copy of the first line, and changes nothing
    if (this.#length > 0 || this.#skipping) {
      const end = chunk.indexOf(NEWLINE);
      this.#hold(end === -1 ? chunk : chunk.subarray(0, end));
      if (end === -1) return;
      this.#finish();
      chunk = chunk.subarray(end + 1);
    }
    const end = chunk.lastIndexOf(NEWLINE);
    if (end !== -1) this.#complete(chunk.subarray(0, end));
    this.#hold(chunk.subarray(end + 1));
  }

  /** Whether these bytes end an unfinished line of more than `size` bytes. */
  endsLonger(size: number, bytes: Uint8Array): boolean {
    return this.#length > size && bytes.includes(NEWLINE);
  }

  /** There are no more bytes. A line without a line end is the last one. */
  end(): void {
    this.#finish();
  }

  /** Drops an unfinished line. */
  close(): void {
    this.#release();
  }

  cutOff(): void {
    this.#release();
    this.#sink.noRoom?.();
  }

  /**
   * Handles complete lines, without the newline of the last one. They are decoded together, unless one could be too
   * long or is not UTF-8.
   */
  #complete(lines: Buffer): void {
    // Stryker disable next-line ConditionalExpression,EqualityOperator: line by line they come out the same, only slower
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
    } else if (!isUtf8(line)) this.#sink.invalidUtf8(line);
    else {
      const text = line.toString();
      this.#emit(text, 0, text.length);
    }
  }

  #emit(text: string, start: number, end: number): void {
    if (text.charCodeAt(end - 1) === RETURN) end -= 1;
    if (end > start) this.#sink.line(text.slice(start, end));
  }

  /**
   * Buffers a part of an unfinished line. The buffer doubles, so copying a line in a million chunks takes linear time.
   */
  #hold(bytes: Buffer): void {
    if (this.#skipping) return this.#pass(bytes);
    const size = this.#length + bytes.length;
    if (size > this.#maxBytes) {
      const start = this.#buffer.subarray(0, this.#length);
      this.#release();
      return this.#skip(start, bytes);
    }
    // Stryker disable next-line EqualityOperator: a full buffer may grow with the next byte or before
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(Math.max(size, 2 * this.#buffer.length, 1024), this.#maxBytes));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = size;
    const { length } = this.#buffer;
    // Stryker disable next-line ConditionalExpression,EqualityOperator,LogicalOperator: counting more, or again, only costs time
    if (length >= COUNTED_FROM && length !== this.held) receiveBudget.hold(this, length);
  }

  #pass(bytes: Buffer): void {
    const limit = ENDLESS * this.#maxBytes;
    if (this.#passed > limit) return;
    this.#passed += bytes.length;
    this.#skim?.push(bytes);
    if (this.#passed > limit) this.#sink.endless?.();
  }

  #finish(): void {
    if (this.#skipping) return this.#skipped();
    const line = this.#buffer.subarray(0, this.#length);
    this.#release();
    this.#single(line);
  }

  #skip(...parts: readonly Uint8Array[]): void {
    this.#skipping = true;
    this.#sink.tooLong();
    if (!this.#sink.skipped) return;
    this.#skim = new MessageSkim(MAX_SEARCHED);
    for (const part of parts) this.#skim.push(part);
  }

  #skipped(): void {
    const skim = this.#skim;
    this.#skipping = false;
    this.#passed = 0;
    this.#skim = undefined;
    if (skim) this.#sink.skipped!(skim.envelope);
  }

  #release(): void {
    this.#length = 0;
    this.#buffer = Buffer.alloc(0);
    // Stryker disable next-line ConditionalExpression,EqualityOperator: not to hold nothing changes nothing
    if (this.held > 0) receiveBudget.hold(this, 0);
  }
}
