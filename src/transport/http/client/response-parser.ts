/** The headers of a response by name, in lower case. The values of a repeated header are joined with commas. */
export type Headers = ReadonlyMap<string, string>;

/** What a parser reports about the response to one request. */
export interface ResponseListener {
  /** The head has come. Interim responses (status 1xx) are left out. */
  onhead(status: number, headers: Headers): void;
  /** A piece of the body. */
  ondata(bytes: Uint8Array): void;
  /** The response is complete. The parser can take the next one. */
  onend(): void;
}

/** A response that breaks the rules of HTTP/1.1. */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';

  constructor(why: string) {
    super(`the response is not valid HTTP/1.1: ${why}`);
  }
}

/** The connection ended before the response did. */
export class ClosedEarly extends Error {
  override readonly name = 'ClosedEarly';

  constructor() {
    super('the server closed the connection');
  }
}

/** The status line and the header lines, without the empty line (RFC 9112, sections 4 and 5). */
const HEAD =
  /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?((?:\r\n[!#$%&'*+.^_`|~\dA-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*)$/;
/** What each head begins with. */
const START = 'HTTP/1.';
/** A chunk's size, at most 2^52, and its extensions (RFC 9112, section 7.1). */
const CHUNK = /^([\dA-Fa-f]{1,13})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const LENGTH = /^\d{1,15}$/;
const CARRIAGE_RETURN = 0x0d;
const LINE_END = '\r\n';
const HEAD_END = '\r\n\r\n';
/** Headers of which only the first counts, as in `node:http`. */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'location', 'retry-after']);
const NOTHING = Buffer.alloc(0);

type State = 'head' | 'length' | 'until close' | 'chunk size' | 'chunk' | 'chunk end' | 'trailers';

/**
 * Reads the responses of one connection (RFC 9112). It is strict: where implementations could read a response
 * differently, it fails.
 */
export class ResponseParser {
  /** Whether the connection can carry another request, as far as is known. */
  keepsOpen = true;
  readonly #maxHeadBytes: number;
  readonly #listener: ResponseListener;
  #state: State = 'head';
  /** How many bytes of the body, or of its chunk, are left. */
  #left = 0;
  /** The beginning of a head or a line whose end has not come yet. */
  #rest: Buffer = NOTHING;
  /** The bytes of the trailers so far. */
  #trailers = 0;
  /** Whether bytes came that no request asked for. They are not read. */
  #over = false;

  /** @param maxHeadBytes the largest size of a head, of the trailers, and of a line with a chunk's size. */
  constructor(maxHeadBytes: number, listener: ResponseListener) {
    this.#maxHeadBytes = maxHeadBytes;
    this.#listener = listener;
  }

  /** @throws MalformedResponse */
  push(bytes: Buffer): void {
    // Stryker disable next-line ConditionalExpression,EqualityOperator: with an empty rest, the bytes are only copied
    if (this.#rest.length > 0) bytes = Buffer.concat([this.#rest, bytes]);
    this.#rest = NOTHING;
    for (let at = 0; at < bytes.length && !this.#over;) at = this.#read(bytes, at);
  }

  /** The server will send nothing more. @throws Error if the response is not complete. */
  end(): void {
    if (this.#state !== 'until close') throw new ClosedEarly();
    // Stryker disable next-line BooleanLiteral: nothing can follow
    this.#complete(true);
  }

  /** Reads the next part, and returns where it ends. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head': {
        const head = this.#upTo(HEAD_END, bytes, at);
        if (head === undefined) {
          // With another protocol, the end of a head might never come.
          if (START.startsWith(bytes.toString('latin1', at, at + START.length))) return bytes.length;
          throw new MalformedResponse('its head is not HTTP/1.1');
        }
        const end = at + head.length + HEAD_END.length;
        this.#readHead(head, end === bytes.length);
        return end;
      }
      case 'until close':
        this.#listener.ondata(bytes.subarray(at));
        return bytes.length;
      case 'length':
      case 'chunk': {
        const end = Math.min(at + this.#left, bytes.length);
        this.#left -= end - at;
        this.#listener.ondata(bytes.subarray(at, end));
        if (this.#left === 0) {
          if (this.#state === 'chunk') this.#state = 'chunk end';
          else this.#complete(end === bytes.length);
        }
        return end;
      }
      default: {
        const line = this.#upTo(LINE_END, bytes, at);
        if (line === undefined) return bytes.length;
        const end = at + line.length + LINE_END.length;
        this.#readLine(line, end === bytes.length);
        return end;
      }
    }
  }

  /** The text up to an end. Undefined if the end has not come. */
  #upTo(end: string, bytes: Buffer, at: number): string | undefined {
    const found = bytes.indexOf(end, at, 'latin1');
    if ((found < 0 ? bytes.length : found) - at > this.#maxHeadBytes) {
      throw new MalformedResponse(`its head is larger than ${this.#maxHeadBytes} bytes`);
    }
    if (found >= 0) return bytes.toString('latin1', at, found);
    this.#rest = bytes.subarray(at);
    for (let feed = this.#rest.indexOf('\n'); feed >= 0; feed = this.#rest.indexOf('\n', feed + 1)) {
      // The parser would wait for `\r\n` forever.
      if (this.#rest[feed - 1] !== CARRIAGE_RETURN) throw new MalformedResponse('a line ends with a line feed only');
    }
    return undefined;
  }

  /** @param last whether nothing has come after it. */
  #readHead(text: string, last: boolean): void {
    // Stryker disable next-line ArrayDeclaration: only `lines` is looked at
    const [, minor, code, lines] = HEAD.exec(text) ?? [];
    if (lines === undefined) throw new MalformedResponse('its head is not HTTP/1.1');
    const status = Number(code);
    if (status === 101) throw new MalformedResponse('it switches to another protocol, although nobody asked for it');
    if (status < 200) return;
    const headers = headersOf(lines);
    // Stryker disable next-line StringLiteral: any text without the two options
    const connection = headers.get('connection')?.toLowerCase() ?? '';
    this.keepsOpen = minor === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
    this.#state = this.#bodyOf(status, headers, minor === '1');
    this.#listener.onhead(status, headers);
    if (this.#state === 'until close') this.keepsOpen = false;
    if (this.#state === 'length' && this.#left === 0) this.#complete(last);
  }

  /** How the body is sent (RFC 9112, section 6.3). */
  #bodyOf(status: number, headers: Headers, chunks: boolean): State {
    const length = headers.get('content-length');
    const coding = headers.get('transfer-encoding');
    this.#left = 0;
    if (coding !== undefined) {
      if (!chunks || coding.toLowerCase() !== 'chunked' || length !== undefined) {
        throw new MalformedResponse('its headers disagree about how the body is sent');
      }
      return status === 204 || status === 304 ? 'length' : 'chunk size';
    }
    if (length !== undefined && !LENGTH.test(length))
      throw new MalformedResponse('its Content-Length is not one number');
    if (status === 204 || status === 304) return 'length';
    if (length === undefined) return 'until close';
    this.#left = Number(length);
    return 'length';
  }

  #readLine(line: string, last: boolean): void {
    if (this.#state === 'chunk end') {
      if (line !== '') throw new MalformedResponse('a chunk is longer than its size');
      this.#state = 'chunk size';
    } else if (this.#state === 'chunk size') {
      const size = CHUNK.exec(line)?.[1];
      if (size === undefined) throw new MalformedResponse('the size of a chunk is not a number');
      this.#left = Number.parseInt(size, 16);
      this.#trailers = 0;
      // Stryker disable next-line StringLiteral: in any other state, lines are trailers
      this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    } else if (line === '') this.#complete(last);
    else {
      this.#trailers += line.length;
      if (this.#trailers > this.#maxHeadBytes) {
        throw new MalformedResponse(`its trailers are larger than ${this.#maxHeadBytes} bytes`);
      }
    }
  }

  #complete(last: boolean): void {
    this.#state = 'head';
    this.#over = !last;
    if (this.#over) this.keepsOpen = false;
    this.#listener.onend();
  }
}

function headersOf(lines: string): Headers {
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
    else if (!SINGLE.has(name)) headers.set(name, `${former}, ${value}`);
    at += line.length + LINE_END.length;
  }
  return headers;
}

/** The text from a position on, without spaces and tabs around it. `trim` would remove other characters too. */
function trimmed(line: string, start: number): string {
  let end = line.length;
  while (isBlank(line, start)) start += 1;
  while (isBlank(line, end - 1)) end -= 1;
  return line.slice(start, end);
}

function isBlank(line: string, at: number): boolean {
  const code = line.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}
