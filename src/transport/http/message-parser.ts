/** The headers of a message by name, in lower case. The values of a repeated header are joined with commas. */
export type Headers = ReadonlyMap<string, string>;

const FIELD = String.raw`[!#$%&'*+.^_\`|~\dA-Za-z-]+:[\t\x20-\x7e\x80-\xff]*`;
/** A header line with its line break in front (RFC 9112, section 5). For use in an expression for a whole head. */
export const HEADER_LINE = String.raw`\r\n${FIELD}`;
const TRAILER = new RegExp(`^${FIELD}$`);

/** A chunk's size, at most 2^52, and its extensions (RFC 9112, section 7.1). `#readPlainLine` reads a size alone. */
const CHUNK = /^([\dA-Fa-f]{1,13})[\t ]*;[\t\x20-\x7e\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;
/** The most digits of a chunk's size. */
const MAX_DIGITS = 13;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const LINE_END = '\r\n';
const HEAD_END = '\r\n\r\n';
const NOTHING = Buffer.alloc(0);

type State = 'head' | 'length' | 'until close' | 'chunk size' | 'chunk' | 'chunk end' | 'trailers';

/** Why a message breaks the rules of HTTP/1.1. `size` means that its head or its trailers are too large. */
export type Malformation = 'syntax' | 'size';

/**
 * Reads the HTTP/1.1 messages of one direction of a connection (RFC 9112). It is strict: where implementations could read
 * a message differently, it fails.
 */
export abstract class MessageParser {
  readonly #maxHeadBytes: number;
  #state: State = 'head';
  /** How many bytes of the body, or of its chunk, are left. */
  #left = 0;
  /** The beginning of a head or a line whose end has not come yet. */
  #rest: Buffer = NOTHING;
  /** How many bytes of the current piece were searched before, as part of `#rest`. */
  #searched = 0;
  /** The bytes of the trailers so far. */
  #trailers = 0;
  /** Whether to read no further for now. */
  // Stryker disable next-line BooleanLiteral: each call of `push` sets it first
  #stopped = false;

  /** @param maxHeadBytes the largest size of a head, of the trailers, and of a line with a chunk's size. */
  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** Whether the beginning of a head has come, but not its end. */
  get inHead(): boolean {
    return this.#state === 'head' && this.#rest.length > 0;
  }

  /** Reads at most to the end of one message, or to `stop`. Returns the bytes that it has not read. */
  push(bytes: Buffer): Buffer {
    this.#searched = this.#rest.length;
    // Stryker disable next-line ConditionalExpression,EqualityOperator: with an empty rest, the bytes are only copied
    if (this.#rest.length > 0) bytes = Buffer.concat([this.#rest, bytes]);
    this.#rest = NOTHING;
    this.#stopped = false;
    let at = 0;
    while (at < bytes.length && !this.#stopped) at = this.#read(bytes, at);
    // Stryker disable next-line ConditionalExpression,EqualityOperator: an empty part is nothing, too
    return at < bytes.length ? bytes.subarray(at) : NOTHING;
  }

  /** The other side will send nothing more. Returns whether that completes the message. */
  end(): boolean {
    if (this.#state !== 'until close') return false;
    // Stryker disable next-line BooleanLiteral: nothing can follow
    this.#complete(true);
    return true;
  }

  /** Whether a head may begin so. With another protocol, the end of a head might never come. */
  protected abstract mayBegin(text: string): boolean;
  /**
   * A head has come: the first line and the header lines, without the empty line. Calls `expectBody`, unless the message
   * is only an interim one.
   *
   * @param last whether nothing has come after it.
   */
  protected abstract onhead(head: string, last: boolean): void;
  /** A piece of the body, never empty. */
  protected abstract ondata(bytes: Uint8Array): void;
  /** The message is complete. @param last whether nothing has come after it. */
  protected abstract onend(last: boolean): void;
  /** The error for a message that breaks the rules. */
  protected abstract malformed(why: string, malformation?: Malformation): Error;

  /**
   * How the body is sent (RFC 9112, section 6.3).
   *
   * @param otherwise how long the body is without a header that says so.
   * @param http11 whether the message is of HTTP/1.1. HTTP/1.0 knows no chunks.
   */
  protected bodyOf(headers: Headers, http11: boolean, otherwise: 0 | 'until close'): number | 'chunks' | 'until close' {
    const length = headers.get('content-length');
    const coding = headers.get('transfer-encoding');
    if (coding !== undefined) {
      if (!http11 || coding.toLowerCase() !== 'chunked' || length !== undefined) {
        throw this.malformed('its headers disagree about how the body is sent');
      }
      return 'chunks';
    }
    if (length === undefined) return otherwise;
    if (!LENGTH.test(length)) throw this.malformed('its Content-Length is not one number');
    return Number(length);
  }

  /** @param last whether nothing has come after the head. */
  protected expectBody(body: number | 'chunks' | 'until close', last: boolean): void {
    // Stryker disable next-line ConditionalExpression: a body without a length sets it with each chunk, or never reads it
    this.#left = typeof body === 'number' ? body : 0;
    this.#state = body === 'chunks' ? 'chunk size' : typeof body === 'number' ? 'length' : body;
    if (body === 0) this.#complete(last);
  }

  /** Reads no further in this call of `push`. */
  protected stop(): void {
    this.#stopped = true;
  }

  /** Reads the next part, and returns where it ends. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head': {
        const head = this.#upTo(HEAD_END, bytes, at);
        if (head === undefined) {
          if (this.mayBegin(bytes.toString('latin1', at, at + 8))) return bytes.length;
          throw this.malformed('its head is not HTTP/1.1');
        }
        const end = at + head.length + HEAD_END.length;
        this.onhead(head, end === bytes.length);
        return end;
      }
      case 'until close':
        this.ondata(bytes.subarray(at));
        return bytes.length;
      case 'length':
      case 'chunk': {
        const end = Math.min(at + this.#left, bytes.length);
        this.#left -= end - at;
        this.ondata(bytes.subarray(at, end));
        if (this.#left === 0) {
          if (this.#state === 'chunk') this.#state = 'chunk end';
          else this.#complete(end === bytes.length);
        }
        return end;
      }
      default: {
        // Stryker disable next-line ConditionalExpression: the lines of a plain chunk would only take longer
        const after = this.#state === 'trailers' ? 0 : this.#readPlainLine(bytes, at);
        if (after > 0) return after;
        const line = this.#upTo(LINE_END, bytes, at);
        if (line === undefined) return bytes.length;
        const end = at + line.length + LINE_END.length;
        this.#readLine(line, end === bytes.length);
        return end;
      }
    }
  }

  /** The text up to an end. Undefined if the end has not come. Searches no byte twice: they may come one by one. */
  #upTo(end: string, bytes: Buffer, at: number): string | undefined {
    const found = bytes.indexOf(end, Math.max(at, this.#searched - end.length), 'latin1');
    if ((found < 0 ? bytes.length : found) - at > this.#maxHeadBytes) {
      throw this.malformed(`its head is larger than ${this.#maxHeadBytes} bytes`, 'size');
    }
    if (found >= 0) return bytes.toString('latin1', at, found);
    this.#rest = compact(bytes.subarray(at));
    let feed = bytes.indexOf('\n', Math.max(at, this.#searched));
    for (; feed >= 0; feed = bytes.indexOf('\n', feed + 1)) {
      // The parser would wait for `\r\n` forever.
      if (feed === at || bytes[feed - 1] !== CARRIAGE_RETURN) {
        throw this.malformed('a line ends with a line feed only');
      }
    }
    return undefined;
  }

  /**
   * Reads a line of a chunk that has come whole and has no extension, which is the usual case. Returns where it ends, or 0
   * for any other line. A body may have a chunk for each byte.
   */
  #readPlainLine(bytes: Buffer, at: number): number {
    let end = at;
    let size = 0;
    if (this.#state === 'chunk size') {
      for (let digit = hexDigit(bytes[end]); digit >= 0; digit = hexDigit(bytes[end])) {
        size = size * 16 + digit;
        end += 1;
      }
      if (end === at || end - at > MAX_DIGITS) return 0;
    }
    if (bytes[end] !== CARRIAGE_RETURN || bytes[end + 1] !== LINE_FEED) return 0;
    if (this.#state === 'chunk size') this.#beginChunk(size);
    else this.#state = 'chunk size';
    return end + LINE_END.length;
  }

  #beginChunk(size: number): void {
    this.#left = size;
    this.#trailers = 0;
    // Stryker disable next-line StringLiteral: in any other state, lines are trailers
    this.#state = size === 0 ? 'trailers' : 'chunk';
  }

  #readLine(line: string, last: boolean): void {
    // An empty line would have been plain.
    if (this.#state === 'chunk end') throw this.malformed('a chunk is longer than its size');
    if (this.#state === 'chunk size') {
      const size = CHUNK.exec(line)?.[1];
      if (size === undefined) throw this.malformed('the size of a chunk is not a number');
      this.#beginChunk(Number.parseInt(size, 16));
    } else if (line === '') this.#complete(last);
    else {
      // A peer that ends lines differently would find the end of the message at another place.
      if (!TRAILER.test(line)) throw this.malformed('a trailer is not a header line');
      this.#trailers += line.length;
      if (this.#trailers > this.#maxHeadBytes) {
        throw this.malformed(`its trailers are larger than ${this.#maxHeadBytes} bytes`, 'size');
      }
    }
  }

  #complete(last: boolean): void {
    this.#state = 'head';
    this.#stopped = true;
    this.onend(last);
  }
}

/**
 * @param lines each begins with a line break.
 * @param single headers of which only the first counts.
 */
export function headersOf(lines: string, single?: ReadonlySet<string>): Headers {
  const headers = new Map<string, string>();
  // The first line is empty.
  // Stryker disable next-line EqualityOperator: after the last line, the position is beyond the end
  for (let at = 2; at < lines.length;) {
    const end = lines.indexOf(LINE_END, at);
    // Stryker disable next-line EqualityOperator: the search begins after 0
    const line = lines.slice(at, end < 0 ? lines.length : end);
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = trimmed(line, colon + 1);
    const former = headers.get(name);
    if (former === undefined) headers.set(name, value);
    else if (!single?.has(name)) headers.set(name, `${former}, ${value}`);
    at += line.length + LINE_END.length;
  }
  return headers;
}

/** Whether the sender keeps the connection open after a message (RFC 9112, section 9.3). */
export function keepsConnection(headers: Headers, http11: boolean): boolean {
  // Stryker disable next-line StringLiteral: any text without the two options
  const connection = headers.get('connection')?.toLowerCase() ?? '';
  return http11 ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
}

/** How much memory bytes may keep beyond their own. The pool of Buffer has 64 KiB in Node 24, too much for a connection. */
const MAX_SPARE = 8192;

/** Bytes that are kept for later: a copy outside of the pool, if they keep much more memory than they need. */
export function compact(bytes: Buffer): Buffer {
  // Stryker disable next-line ConditionalExpression,EqualityOperator,ArithmeticOperator: a copy too many only costs time
  if (bytes.buffer.byteLength - bytes.length <= MAX_SPARE) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** The text from a position on, without spaces and tabs around it. `trim` would remove other characters too. */
function trimmed(line: string, start: number): string {
  let end = line.length;
  while (isBlank(line, start)) start += 1;
  while (isBlank(line, end - 1)) end -= 1;
  return line.slice(start, end);
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(code = 0): number {
  // Stryker disable next-line ConditionalExpression: for a character before the digits, the result is negative too
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isBlank(line: string, at: number): boolean {
  const code = line.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}
