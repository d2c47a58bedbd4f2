import {
  HEADER_LINE,
  headersOf,
  keepsConnection,
  MessageParser,
  type Headers,
  type Malformation,
} from '../message-parser.ts';

/**
 * The head of a request.
 *
 * A class, because V8 creates the objects of an object literal in the old generation once some have lived long, as while
 * sessions are revived. Then the heads of all later calls, and what they name, would live until a full collection.
 */
export class RequestHead {
  readonly method: string;
  /** As it was sent: usually a path with a query, but it may have a scheme and a host. */
  readonly target: string;
  readonly headers: Headers;
  /** Whether the client speaks HTTP/1.1, and not HTTP/1.0. */
  readonly http11: boolean;
  /** Whether the client keeps the connection open after the response. */
  readonly keepsOpen: boolean;

  constructor(method: string, target: string, headers: Headers, http11: boolean) {
    this.method = method;
    this.target = target;
    this.headers = headers;
    this.http11 = http11;
    this.keepsOpen = keepsConnection(headers, http11);
  }
}

/** What a parser reports about a request. */
export interface RequestListener {
  /** The head has come. Nothing more is read in the same call of `push`. */
  onhead(head: RequestHead): void;
  /** A piece of the body. */
  ondata(bytes: Uint8Array): void;
  /** The request is complete. */
  onend(): void;
}

/** A request that breaks the rules of HTTP/1.1, or that this server cannot read. */
export class MalformedRequest extends Error {
  override readonly name = 'MalformedRequest';
  /** The HTTP status of the response. */
  readonly status: number;

  constructor(why: string, status = 400) {
    super(`The request is not valid HTTP/1.1: ${why}`);
    this.status = status;
  }
}

/** The request line and the header lines, without the empty line (RFC 9112, sections 3 and 5). */
const HEAD = new RegExp(
  String.raw`^([!#$%&'*+.^_\`|~\dA-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])((?:${HEADER_LINE})*)$`,
);
/** What may come before the end of the first line. A client of TLS, for example, begins with other bytes. */
const START = /^[\x20-\x7e\x80-\xff]*(?:\r|$)/;
const EMPTY_LINE = '\r\n';

/** Reads the requests of one connection. */
export class RequestParser extends MessageParser {
  readonly #listener: RequestListener;

  /** @param maxHeadBytes the largest size of a head, of the trailers, and of a line with a chunk's size. */
  constructor(maxHeadBytes: number, listener: RequestListener) {
    super(maxHeadBytes);
    this.#listener = listener;
  }

  protected override mayBegin(text: string): boolean {
    return START.test(text);
  }

  protected override onhead(given: string): void {
    // An empty line in front of a request is ignored (RFC 9112, section 2.2).
    const head = given.startsWith(EMPTY_LINE) ? given.slice(EMPTY_LINE.length) : given;
    // Stryker disable next-line ArrayDeclaration: one element more or less, and there are still no lines
    const [, method, target, minor, lines] = HEAD.exec(head) ?? [];
    if (lines === undefined) throw this.malformed('its head is not HTTP/1.1');
    const headers = headersOf(lines);
    const http11 = minor === '1';
    const body = this.bodyOf(headers, http11, 0);
    this.#listener.onhead(new RequestHead(method!, target!, headers, http11));
    // Stryker disable next-line BooleanLiteral: only a parser of responses reads it
    this.expectBody(body, false);
    this.stop();
  }

  protected override ondata(bytes: Uint8Array): void {
    this.#listener.ondata(bytes);
  }

  protected override onend(): void {
    this.#listener.onend();
  }

  // Stryker disable next-line StringLiteral: any other word than `size`
  protected override malformed(why: string, malformation: Malformation = 'syntax'): Error {
    return new MalformedRequest(why, malformation === 'size' ? 431 : 400);
  }
}
