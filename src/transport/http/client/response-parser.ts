import { HEADER_LINE, headersOf, keepsConnection, MessageParser, type Headers } from '../message-parser.ts';

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
const HEAD = new RegExp(String.raw`^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?((?:${HEADER_LINE})*)$`);
/** What each head begins with. */
const START = 'HTTP/1.';
/** Headers of which only the first counts, as in `node:http`. */
const SINGLE: ReadonlySet<string> = new Set(['content-type', 'location', 'retry-after']);

/** Reads the responses of one connection. */
export class ResponseParser extends MessageParser {
  /** Whether the connection can carry another request, as far as is known. */
  keepsOpen = true;
  readonly #listener: ResponseListener;
  /** Whether bytes came that no request asked for. They are not read. */
  #over = false;

  /** @param maxHeadBytes the largest size of a head, of the trailers, and of a line with a chunk's size. */
  constructor(maxHeadBytes: number, listener: ResponseListener) {
    super(maxHeadBytes);
    this.#listener = listener;
  }

  /** @throws MalformedResponse */
  override push(bytes: Buffer): Buffer {
    return this.#over ? bytes : super.push(bytes);
  }

  /** The server will send nothing more. @throws ClosedEarly if the response is not complete. */
  override end(): boolean {
    if (!super.end()) throw new ClosedEarly();
    // Stryker disable next-line BooleanLiteral: no caller looks at it; an incomplete response is an error
    return true;
  }

  protected override mayBegin(text: string): boolean {
    return START.startsWith(text.slice(0, START.length));
  }

  protected override onhead(head: string, last: boolean): void {
    // Stryker disable next-line ArrayDeclaration: only `lines` is looked at
    const [, minor, code, lines] = HEAD.exec(head) ?? [];
    if (lines === undefined) throw this.malformed('its head is not HTTP/1.1');
    const status = Number(code);
    if (status === 101) throw this.malformed('it switches to another protocol, although nobody asked for it');
    if (status < 200) return;
    const headers = headersOf(lines, SINGLE);
    const http11 = minor === '1';
    const declared = this.bodyOf(headers, http11, 'until close');
    const body = status === 204 || status === 304 ? 0 : declared;
    this.keepsOpen = keepsConnection(headers, http11) && body !== 'until close';
    this.#listener.onhead(status, headers);
    this.expectBody(body, last);
  }

  protected override ondata(bytes: Uint8Array): void {
    this.#listener.ondata(bytes);
  }

  protected override onend(last: boolean): void {
    this.#over = !last;
    if (this.#over) this.keepsOpen = false;
    this.#listener.onend();
  }

  protected override malformed(why: string): Error {
    return new MalformedResponse(why);
  }
}
