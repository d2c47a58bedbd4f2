import { HeadReader } from './head-reader.ts';
import type { SecretLines } from './secret-lines.ts';

/** How the end of a body is found (RFC 9112, section 6.3). */
export type Framing = { readonly kind: 'length'; readonly length: number } | { readonly kind: 'chunked' | 'close' };

/** Receives the parts of a body. Offsets count from the start of the stream. */
export interface BodySink {
  readonly oncontent: (bytes: Buffer, offset: number) => void;
  readonly onchunk: (start: number, end: number) => void;
  /** Gets all bytes but the content. */
  readonly secrets: SecretLines;
}

const LINE_FEED = 0x0a;
/** The longest size line of a chunk, in bytes. Only chunk extensions make it long. */
const MAX_SIZE_LINE = 16 * 1024;

/** Reads the body of one HTTP message. */
export class BodyReader {
  readonly #sink: BodySink;
  /** What the next bytes are. */
  #next: 'content' | 'rest' | 'size' | 'chunk' | 'chunk end' | 'trailers';
  /** How many bytes of content are left. */
  #left: number;
  #line = '';
  #chunkStart = 0;
  #trailers: HeadReader | undefined;
  state: 'reading' | 'done' | 'malformed' = 'reading';
  /** What is malformed, if anything. */
  note: string | undefined;

  /** @param framing the framing of a body that is not empty. */
  constructor(framing: Framing, sink: BodySink) {
    this.#sink = sink;
    this.#left = framing.kind === 'length' ? framing.length : 0;
    this.#next = framing.kind === 'length' ? 'content' : framing.kind === 'chunked' ? 'size' : 'rest';
  }

  /**
   * Reads from `at` to the end of the body or of the chunk.
   *
   * @param offset where the chunk begins in the stream.
   * @returns the position of the first byte that was not read.
   */
  push(chunk: Buffer, at: number, offset: number): number {
    while (at < chunk.length && this.state === 'reading') at = this.#step(chunk, at, offset);
    return at;
  }

  /** Whether the end of the stream is the end of the body. */
  get endsWithStream(): boolean {
    return this.#next === 'rest';
  }

  #step(chunk: Buffer, at: number, offset: number): number {
    switch (this.#next) {
      case 'rest':
        this.#sink.oncontent(chunk.subarray(at), offset + at);
        return chunk.length;
      case 'content':
      case 'chunk':
        return this.#content(chunk, at, offset);
      case 'size':
      case 'chunk end':
        return this.#sizeLine(chunk, at, offset);
      default:
        return this.#readTrailers(chunk, at, offset);
    }
  }

  #content(chunk: Buffer, at: number, offset: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#sink.oncontent(chunk.subarray(at, end), offset + at);
    this.#left -= end - at;
    if (this.#left > 0) return end;
    if (this.#next === 'chunk') this.#next = 'chunk end';
    else this.state = 'done';
    return end;
  }

  /** Reads the line with the size of a chunk, or the empty line after its content. */
  #sizeLine(chunk: Buffer, at: number, offset: number): number {
    const isSize = this.#next === 'size';
    if (isSize && this.#line === '') this.#chunkStart = offset + at;
    const feed = chunk.indexOf(LINE_FEED, at);
    const left = (isSize ? MAX_SIZE_LINE : 2) - this.#line.length;
    const end = Math.min(feed === -1 ? chunk.length : feed + 1, at + left);
    const text = chunk.toString('latin1', at, end);
    this.#sink.secrets.push(text, offset + at);
    this.#line += text;
    if (end !== feed + 1) return end === at + left ? this.#malformed(isSize ? 'size' : 'chunk end', end) : end;
    const line = this.#line.replace(/\r?\n$/, '');
    this.#line = '';
    if (isSize) this.#beginChunk(line, end);
    else if (line !== '') return this.#malformed('chunk end', end);
    else {
      this.#next = 'size';
      this.#sink.onchunk(this.#chunkStart, offset + end);
    }
    return end;
  }

  #beginChunk(line: string, end: number): void {
    const size = /^([\da-f]{1,13})[ \t]*(;|$)/i.exec(line)?.[1];
    if (size === undefined) return void this.#malformed('size', end);
    this.#left = Number.parseInt(size, 16);
    this.#next = this.#left === 0 ? 'trailers' : 'chunk';
  }

  #readTrailers(chunk: Buffer, at: number, offset: number): number {
    const trailers = (this.#trailers ??= new HeadReader(this.#sink.secrets, true));
    const end = trailers.push(chunk, at, offset);
    if (trailers.state === 'too large') return this.#malformed('trailers', end);
    if (trailers.state === 'done') {
      this.state = 'done';
      this.note = trailers.note;
      this.#sink.onchunk(this.#chunkStart, offset + end);
    }
    return end;
  }

  #malformed(what: 'size' | 'chunk end' | 'trailers', at: number): number {
    this.state = 'malformed';
    this.note = {
      size: 'a malformed chunk size',
      'chunk end': 'a chunk that is longer than its size',
      trailers: 'trailers that are too large',
    }[what];
    return at;
  }
}
