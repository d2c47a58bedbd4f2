import { secretsIn } from './secrets.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** The largest head that is read. `node:http` accepts 16 KiB. */
const MAX_HEAD = 64 * 1024;
/** The fields that say how a body is framed and what it is. */
const KEPT = new Set(['content-length', 'transfer-encoding', 'content-type', 'content-encoding']);

/** Called with the start and end of a secret value, as offsets in the stream. A value may come in several pieces. */
export type OnSecret = (start: number, end: number) => void;

/** Reads the head of one HTTP message, or the trailers of a body, line by line (RFC 9112, sections 2 to 5). */
export class HeadReader {
  readonly #onsecret: OnSecret;
  readonly #fields = new Map<string, string>();
  /** The first line of a head. Undefined until it is read, and in trailers always the empty text. */
  #firstLine: string | undefined;
  /** The unfinished line. */
  #line = '';
  /** The name of the last field. */
  #name = '';
  #size = 0;
  #note: string | undefined;
  /** Where the first byte is in the stream. Undefined until there is one. */
  start: number | undefined;
  state: 'reading' | 'done' | 'too large' = 'reading';

  /** @param trailers whether there is no first line. */
  constructor(onsecret: OnSecret, trailers = false) {
    this.#onsecret = onsecret;
    if (trailers) this.#firstLine = '';
  }

  get firstLine(): string {
    return this.#firstLine ?? this.#line;
  }

  /** What is malformed. */
  get note(): string | undefined {
    return this.#note;
  }

  /** The value of a field that concerns the body. Values of a repeated field are joined by commas. */
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
      const feed = chunk.indexOf(LINE_FEED, at);
      const end = Math.min(feed === -1 ? chunk.length : feed + 1, at + MAX_HEAD - this.#size);
      this.#piece(chunk.toString('latin1', at, end), offset + at);
      if (end === feed + 1) this.#endLine();
      if (this.state === 'reading' && this.#size === MAX_HEAD) this.state = 'too large';
      at = end;
    }
    return at;
  }

  #piece(text: string, offset: number): void {
    const before = this.#line.length;
    this.#line += text;
    this.#size += text.length;
    for (const [start, end] of this.#secrets()) {
      const from = Math.max(start, before);
      if (from < end) this.#onsecret(offset + from - before, offset + end - before);
    }
  }

  /** A line that begins with a space continues the field before it. */
  #secrets(): [number, number][] {
    const line = this.#line;
    if (this.#firstLine === undefined) return secretsIn(line, true);
    if (!/^[ \t]/.test(line)) return secretsIn(line, false);
    const continued = `${this.#name}:`;
    return secretsIn(continued + line, false).map(([start, end]) => [start - continued.length, end - continued.length]);
  }

  #endLine(): void {
    const line = this.#line.trimEnd();
    this.#line = '';
    if (this.#firstLine === undefined) this.#firstLine = line;
    else if (line === '') this.state = 'done';
    else this.#field(line);
  }

  #field(line: string): void {
    if (/^[ \t]/.test(line)) {
      this.#note ??= 'a folded header';
      return;
    }
    const colon = line.indexOf(':');
    if (colon <= 0 || /[^!#$%&'*+.^_`|~\w-]/.test(line.slice(0, colon))) this.#note ??= 'a malformed header';
    this.#name = line.slice(0, Math.max(colon, 0)).trim();
    const name = this.#name.toLowerCase();
    if (!KEPT.has(name)) return;
    const value = line.slice(colon + 1).trim();
    const earlier = this.#fields.get(name);
    this.#fields.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN;
}
