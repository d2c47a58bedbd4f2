import { isSecretName, SecretParameters } from './secrets.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
/** The largest head that is read. `node:http` accepts 16 KiB. */
const MAX_HEAD = 64 * 1024;
const MOST_HEADS = 1024;
/** The fields that say how a body is framed and what it is. */
const KEPT = new Set(['content-length', 'transfer-encoding', 'content-type', 'content-encoding']);

/** What is known of the name of a field, so that it is looked at once. */
interface FieldName {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isValid: boolean;
  readonly isKept: boolean;
}

const names = new Map<string, FieldName>();
/** A connection repeats the names of its fields, and a hostile one may not fill the memory with them. */
const MAX_NAMES = 1000;
const MAX_NAME = 64;

function fieldName(written: string): FieldName {
  const known = names.get(written);
  if (known) return known;
  const name = written.trim().toLowerCase();
  const isValid = /^[!#$%&'*+.^_`|~\w-]+$/.test(written);
  const found = { name, isSecret: isSecretName(name), isValid, isKept: KEPT.has(name) };
  // A copy, because a slice of a line keeps the whole line in memory.
  if (names.size < MAX_NAMES && written.length <= MAX_NAME)
    names.set(Buffer.from(written, 'latin1').toString('latin1'), found);
  return found;
}

/** Called with the start and end of a secret value, as offsets in the stream. A value may come in several pieces. */
export type OnSecret = (start: number, end: number) => void;

/** Reads the head of one HTTP message, or the trailers of a body, line by line (RFC 9112, sections 2 to 5). */
export class HeadReader {
  readonly #onsecret: OnSecret;
  readonly #fields = new Map<string, string>();
  /** The first line of a head. Undefined until it is read, and in trailers always the empty text. */
  #firstLine: string | undefined;
  readonly #parameters = new SecretParameters();
  /** The unfinished line. */
  #line = '';
  /** The name of the field of this line, or of the one that this line continues. Undefined before the colon. */
  #name: FieldName | undefined;
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
      // Most heads are smaller. Each line by itself would take twice the time.
      const end = at + Math.min(MOST_HEADS, MAX_HEAD - this.#size);
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

  /** Adds a piece of a line, and finds the secrets in it. */
  #piece(text: string, offset: number): void {
    const before = this.#line.length;
    this.#line = before === 0 ? text : this.#line + text;
    this.#size += text.length;
    if (this.#firstLine === undefined) {
      for (const [start, end] of this.#parameters.next(text)) this.#onsecret(offset + start, offset + end);
      return;
    }
    const value = this.#valueStart();
    if (value === undefined || !this.#name?.isSecret) return;
    // Spaces around a value are not part of it.
    const line = this.#line;
    this.#secret(Math.max(value + leadingSpaces(line.slice(value)), before), line.trimEnd().length, offset - before);
  }

  #secret(start: number, end: number, lineStart: number): void {
    if (start < end) this.#onsecret(lineStart + start, lineStart + end);
  }

  /** Where the value begins in the line. Undefined if the name is incomplete. */
  #valueStart(): number | undefined {
    // A line that begins with a space continues the field before it.
    if (this.#isFolded()) return 0;
    const colon = this.#line.indexOf(':');
    this.#name = colon === -1 ? undefined : fieldName(this.#line.slice(0, colon));
    return colon === -1 ? undefined : colon + 1;
  }

  #isFolded(): boolean {
    const code = this.#line.charCodeAt(0);
    return code === SPACE || code === TAB;
  }

  #endLine(): void {
    const line = this.#line.trimEnd();
    if (this.#firstLine === undefined) this.#firstLine = line;
    else if (line === '') this.state = 'done';
    else if (this.#isFolded()) this.#note ??= 'a folded header';
    else this.#field(line);
    this.#line = '';
  }

  #field(line: string): void {
    const field = this.#name;
    if (!field?.isValid) this.#note ??= 'a malformed header';
    if (!field?.isKept) return;
    const value = line.slice(line.indexOf(':') + 1).trim();
    const earlier = this.#fields.get(field.name);
    this.#fields.set(field.name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
}

function leadingSpaces(text: string): number {
  return text.length - text.trimStart().length;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN;
}
