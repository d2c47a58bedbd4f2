import { printableLine } from '../../../base/printable.ts';
import { BodyBuffer } from '../body-buffer.ts';
import type { Holder } from '../../../base/buffer-budget.ts';
import { COUNTED_FROM, receiveBudget, receiveBudgetExceeded } from '../../../base/receive-budget.ts';
import { shortText } from '../../../base/short-text.ts';
import type { ExchangeListener, Connection, ConnectionPool } from './connection.ts';
import { AnswerLost, shown } from './errors.ts';
import { NotSent, type HttpReply, type HttpRequest } from './http.ts';
import { refusal } from './proxy.ts';
import { reasonOf } from './reason.ts';
import type { Headers } from '../message-parser.ts';
import { ClosedEarly } from './response-parser.ts';

/** At most this many bytes of an unwanted body are read, so that the connection can be reused. */
const MAX_DISCARDED = 64 * 1024;
/** How many unwanted bodies are read at a time. Above this, the oldest connection is closed: its body may never end. */
const MAX_DISCARDING = 32;
/** The unwanted bodies of all servers that have not ended yet, the oldest first. */
const discarding = new Set<Exchange>();
/** How much of a body may wait for its reader, in bytes. Above this, its connection is not read. */
const MAX_WAITING = 64 * 1024;

/** What requests to a URL have in common. */
export interface Target {
  /** The URL when it was prepared: a URL object can change. */
  readonly href: string;
  readonly pool: ConnectionPool;
  /** The path and query; for a proxy that reads the request, the whole URL. */
  readonly path: string;
  /** Added to each request, unless it has such headers. */
  readonly headers: Readonly<Record<string, string>>;
}

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
/** Matches a character that a header value must not have (RFC 9110, section 5.5). */
const INVALID = /[^\t\x20-\x7e\x80-\xff]/;
/** Headers that the connection itself decides. */
const OWN: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'upgrade',
]);
const NO_HEADERS: Headers = new Map();

/** Sends a request, and resolves with the headers of the response. */
export function exchange(request: HttpRequest, target: Target): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    if (request.cancellation?.ended) reject(request.cancellation.ended);
    else new Exchange(request, target, headOf(request, target), resolve, reject).start();
  });
}

/** The request line and the headers. @throws TypeError if they are invalid. */
function headOf({ method, headers, body }: HttpRequest, target: Target): string {
  let head = `${method} ${target.path} HTTP/1.1\r\nconnection: keep-alive\r\n`;
  for (const name in target.headers) if (headers[name] === undefined) head += `${name}: ${target.headers[name]}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (!TOKEN.test(name) || typeof value !== 'string' || INVALID.test(value)) {
      throw new TypeError(`The ${printableLine(name)} header is invalid`);
    }
    if (!OWN.has(name)) head += `${name}: ${value}\r\n`;
  }
  if (body !== undefined) head += `content-length: ${Buffer.byteLength(body)}\r\n`;
  return `${head}\r\n`;
}

/**
 * One request and its response: what the connection calls, and the reply for the reader. One object, because this is the
 * hot path of a client.
 */
class Exchange implements HttpReply, ExchangeListener, Holder {
  status = 0;
  held = 0;
  readonly #request: HttpRequest;
  readonly #target: Target;
  readonly #head: string;
  readonly #cancel: (() => void) | undefined;
  /** Settle the promise that a caller waits for: first for the headers of the response, then for its body. */
  #resolve: (value: any) => void;
  #reject: (reason: Error) => void;
  #connection!: Connection;
  /** Whether any part of the request may have been sent. */
  #sent = false;
  #repeated = false;
  #headers: Headers = NO_HEADERS;
  readonly #body = new BodyBuffer();
  #reading: 'nothing' | 'text' | 'chunks' | 'discard' = 'nothing';
  /** How many bytes of a text, or of a discarded body, may still come. */
  #left = 0;
  #paused = false;
  #complete = false;
  #failure: Error | undefined;

  constructor(
    request: HttpRequest,
    target: Target,
    head: string,
    resolve: (reply: HttpReply) => void,
    reject: (reason: Error) => void,
  ) {
    this.#request = request;
    this.#target = target;
    this.#head = head;
    this.#resolve = resolve;
    this.#reject = reject;
    const { cancellation } = request;
    if (!cancellation) return;
    const cancel = (): void => {
      this.#body.take();
      this.#abort(cancellation.ended!);
    };
    this.#cancel = cancel;
    cancellation.onAbort(cancel);
  }

  start(): void {
    this.#connection = this.#target.pool.take();
    this.#connection.send(this.#head, this.#request.body, this);
  }

  // The reply.

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  text(limit: number): Promise<string> {
    this.#left = limit - this.#body.length;
    if (this.#left < 0) {
      const failure = this.#tooLarge(limit);
      this.#abort(failure);
      return Promise.reject(failure);
    }
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#complete) return Promise.resolve(textOf(this.#body.take()));
    this.#reading = 'text';
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#resume();
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    this.#reading = 'chunks';
    try {
      for (;;) {
        if (this.#body.length > 0) {
          const chunk = this.#body.take();
          this.#resume();
          yield chunk;
        } else if (this.#failure) throw this.#failure;
        else if (this.#complete) return;
        else {
          await new Promise((resolve, reject) => {
            this.#resolve = resolve;
            this.#reject = reject;
          });
        }
      }
    } finally {
      this.#abort(new AnswerLost('the response is no longer read'));
    }
  }

  discard(): void {
    if (this.#complete || this.#failure) return;
    this.#reading = 'discard';
    this.#left = MAX_DISCARDED - this.#body.take().length;
    const length = Number(this.header('content-length') ?? 0);
    if (this.#left < 0 || length > MAX_DISCARDED || this.header('content-type')?.startsWith('text/event-stream')) {
      return this.#abort(DISCARDED);
    }
    discarding.add(this);
    if (discarding.size > MAX_DISCARDING) {
      const [oldest] = discarding;
      oldest!.#abort(DISCARDED);
    }
    this.#connection.unref();
    this.#resume();
  }

  // What the connection calls.

  onsent(): void {
    this.#sent = true;
  }

  onhead(status: number, headers: Headers): void {
    this.#headers = headers;
    const encoding = this.header('content-encoding');
    const { url } = this.#request;
    if (status === 407 && this.#isForwarded()) {
      this.#abort(this.#errorFor(refusal(status)));
    } else {
      this.status = status;
      this.#resolve(this);
      // The reply is delivered first: for an error, or a response without a body, the status is enough.
      if (encoding && encoding.toLowerCase() !== 'identity')
        this.#abort(
          new AnswerLost(`${shown(url)} sent its response as ${shortText(encoding)}, which the client does not accept`),
        );
    }
  }

  ondata(chunk: Uint8Array): void {
    const reading = this.#reading;
    if (reading === 'text' || reading === 'discard') {
      this.#left -= chunk.length;
      if (this.#left < 0) return this.#abort(this.#tooLarge(this.#body.length + chunk.length + this.#left));
    }
    if (reading === 'discard') return;
    this.#body.push(chunk);
    const { capacity } = this.#body;
    if (reading === 'text' && capacity >= COUNTED_FROM && capacity !== this.held) receiveBudget.hold(this, capacity);
    if (reading === 'chunks') this.#resolve(undefined);
    if (reading !== 'text' && this.#body.length > MAX_WAITING && !this.#paused) {
      this.#paused = true;
      this.#connection.pause();
    }
  }

  onend(): void {
    this.#complete = true;
    // From now on the connection may carry another request, which alone may resume it.
    this.#paused = false;
    this.#end();
    if (this.#reading === 'text') this.#resolve(textOf(this.#body.take()));
    else this.#resolve(undefined);
  }

  cutOff(): void {
    this.#body.take();
    this.#abort(receiveBudgetExceeded());
  }

  onerror(cause: Error): void {
    if (this.#mayRepeat(cause)) {
      this.#repeated = true;
      this.#sent = false;
      this.start();
    } else this.#fail(this.status === 0 ? this.#errorFor(cause) : this.#lost(cause));
  }

  /** Fails the request, and closes its connection. */
  #abort(failure: Error): void {
    if (this.#complete || this.#failure) return;
    this.#fail(failure);
    this.#connection.close();
  }

  /** Fails the request, or what still waits for its response. */
  #fail(failure: Error): void {
    this.#failure = failure;
    this.#end();
    this.#reject(failure);
  }

  #end(): void {
    if (this.#cancel) this.#request.cancellation!.offAbort(this.#cancel);
    discarding.delete(this);
    if (this.held > 0) receiveBudget.hold(this, 0);
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#connection.resume();
  }

  #tooLarge(limit: number): AnswerLost {
    return new AnswerLost(`The answer of ${shown(this.#request.url)} is larger than ${limit} bytes`);
  }

  #isForwarded(): boolean {
    return this.#target.path.startsWith('http:');
  }

  /**
   * Whether the request certainly did not run, because the server had closed this idle connection. If the write failed,
   * the server cannot have the whole body. A server that has already responded may have run the request without it.
   */
  #mayRepeat(cause: NodeJS.ErrnoException): boolean {
    if (!this.#connection.reused || this.#repeated || this.status !== 0) return false;
    return this.#request.body !== undefined && cause.syscall === 'write';
  }

  #errorFor(cause: NodeJS.ErrnoException): Error {
    const { proxy } = this.#target.pool.options;
    const { url } = this.#request;
    // A port that expects TLS answers plain HTTP with nothing.
    const isPlain = cause instanceof ClosedEarly && url.protocol === 'http:' && !this.#connection.reused;
    const why = isPlain ? `${cause.message} (it crashed, or its port expects https)` : reasonOf(cause);
    const where = shown(url);
    const through = proxy ? ` through the proxy ${proxy.name}` : '';
    return !this.#sent || cause instanceof NotSent
      ? new NotSent(`${where} cannot be reached${through}: ${why}`, { cause })
      : new AnswerLost(`The connection to ${where}${through} was lost before an answer came: ${why}`, { cause });
  }

  #lost(cause: Error): AnswerLost {
    return new AnswerLost(`The answer of ${shown(this.#request.url)} ended too early: ${cause.message}`, { cause });
  }
}

const DISCARDED = new AnswerLost('the response was discarded');

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
