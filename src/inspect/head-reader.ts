import type { SecretLines } from './secret-lines.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const DELETE = 0x7f;
/** The largest head that is read. `node:http` accepts 16 KiB. */
const MAX_HEAD = 64 * 1024;
/** Most heads have at most this many bytes. */
const USUAL_HEAD = 1024;

/** Reads the head of one HTTP message, or the trailers of a body, line by line (RFC 9112, sections 2 to 5). */
export class HeadReader {
  readonly #secrets: SecretLines;
  readonly #fields = new Map<string, string>();
  /** The first line of a head. Undefined until it is read, and in trailers always the empty text. */
  #firstLine: string | undefined;
  /** The unfinished line. */
  #line = '';
  #size = 0;
  #note: string | undefined;
  /** Where the head begins in the stream. Undefined before its first byte. */
  start: number | undefined;
  state: 'reading' | 'done' | 'too large' = 'reading';

  /** @param trailers whether to read trailers, which have no first line. */
  constructor(secrets: SecretLines, trailers = false) {
    this.#secrets = secrets;
    if (trailers) this.#firstLine = '';
  }

  get firstLine(): string {
    return this.#firstLine ?? this.#line;
  }

  /** What is malformed, if anything. */
  get note(): string | undefined {
    return this.#note;
  }

  /** The value of one of the `KEPT` fields. Values of a repeated field are joined by commas. */
  field(name: string): string | undefined {
    return this.#fields.get(name);
  }

  /**
   * Reads from `at` to the end of the head or of the chunk.
   *
   * @param offset where the chunk begins in the stream.
   * @returns the position of the first byte that was not read.
   */
  push(chunk: Buffer, at: number, offset: number): number {
    // A server ignores empty lines before a request (RFC 9112, section 2.2).
    if (this.#firstLine === undefined && this.#line === '') while (isLineEnd(chunk[at])) at += 1;
    if (at < chunk.length) this.start ??= offset + at;
    while (at < chunk.length && this.state === 'reading') {
      // Decoding each line by itself would take twice the time.
      const end = at + Math.min(USUAL_HEAD, MAX_HEAD - this.#size);
      at += this.#lines(chunk.toString('latin1', at, end), offset + at);
    }
    return at;
  }

  /** @returns how many bytes were read. */
  #lines(text: string, offset: number): number {
    let at = 0;
    while (at < text.length && this.state === 'reading') {
      const feed = text.indexOf('\n', at);
      const end = feed === -1 ? text.length : feed + 1;
      this.#piece(text.slice(at, end), offset + at);
      if (feed !== -1) this.#endLine();
      if (this.state === 'reading' && this.#size === MAX_HEAD) this.state = 'too large';
      at = end;
    }
    return at;
  }

  /** Adds a piece of a line. */
  #piece(text: string, offset: number): void {
    this.#line = this.#line === '' ? text : this.#line + text;
    this.#size += text.length;
    this.#secrets.pushPiece(text, offset);
  }

  #endLine(): void {
    const line = this.#line;
    const first = line.charCodeAt(0);
    this.#line = '';
    if (this.#firstLine === undefined) this.#firstLine = line.trimEnd();
    else if (first > SPACE && first < DELETE) this.#field(line);
    else if (line.trimEnd() === '') this.state = 'done';
    else if (first === SPACE || first === TAB) this.#note ??= 'a folded header';
    else this.#field(line);
  }

  #field(line: string): void {
    const { field } = this.#secrets;
    if (!field?.isValid) this.#note ??= 'a malformed header';
    if (!field?.isKept) return;
    const value = line.slice(line.indexOf(':') + 1).trim();
    const earlier = this.#fields.get(field.name);
    this.#fields.set(field.name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN;
}
