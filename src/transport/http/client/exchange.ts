import type { Dispatcher } from 'undici';
import { BodyBuffer } from '../body-buffer.ts';
import type { Connection, ConnectionPool } from './connection.ts';
import { AnswerLost, shown } from './errors.ts';
import { NotSent, type HttpReply, type HttpRequest } from './http.ts';
import { refusal } from './proxy.ts';

/** Up to this many bytes of an unwanted body are read so that the connection can be reused. */
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
  /** Added to each request, unless it has such headers. Names and values alternate. */
  readonly headers: readonly string[];
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Sends a request, and resolves with the headers of the response. */
export function exchange(request: HttpRequest, target: Target): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    if (request.cancellation?.ended) reject(request.cancellation.ended);
    else new Exchange(request, target, resolve, reject).start();
  });
}

/**
 * One request and its response: the handler that undici calls, and the reply for the reader. One object, because this is
 * the hot path of a client.
 */
class Exchange implements HttpReply, Dispatcher.DispatchHandler {
  status = 0;
  readonly #request: HttpRequest;
  readonly #target: Target;
  readonly #cancel: (() => void) | undefined;
  /** Settle the promise that waits: for the headers of the response, then for its body. */
  #resolve: (value: any) => void;
  #reject: (reason: Error) => void;
  #connection!: Connection;
  /** Whether any part of the request may have been sent. */
  #sent = false;
  #repeated = false;
  #headers: Headers = {};
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
    resolve: (reply: HttpReply) => void,
    reject: (reason: Error) => void,
  ) {
    this.#request = request;
    this.#target = target;
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
    const { method, body } = this.#request;
    const { pool, path } = this.#target;
    this.#connection = pool.take();
    this.#connection.dispatch({ method, path, headers: this.#requestHeaders(), body }, this);
  }

  // The reply.

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? joined(name, value) : value;
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
    this.#resume();
  }

  // The handler.

  onRequestStart(): void {
    this.#sent = true;
  }

  onResponseStart(_controller: unknown, status: number, headers: Headers): void {
    if (status < 200 || this.#failure) return;
    this.#headers = headers;
    const keepAlive = this.header('keep-alive');
    if (keepAlive !== undefined) this.#connection.keepFor(keepAlive);
    const encoding = this.header('content-encoding');
    const { url } = this.#request;
    if (status === 407 && this.#isForwarded()) {
      this.#abort(this.#errorFor(refusal(status)));
    } else if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      this.#abort(new AnswerLost(`${shown(url)} sent its response as ${encoding}, which the client does not accept`));
    } else {
      this.status = status;
      this.#resolve(this);
    }
  }

  onResponseData(_controller: unknown, chunk: Uint8Array): void {
    if (this.#failure) return;
    const reading = this.#reading;
    if (reading === 'text' || reading === 'discard') {
      this.#left -= chunk.length;
      if (this.#left < 0) return this.#abort(this.#tooLarge(this.#body.length + chunk.length + this.#left));
    }
    if (reading === 'discard') return;
    this.#body.push(chunk);
    if (reading === 'chunks') this.#resolve(undefined);
    if (reading !== 'text' && this.#body.length > MAX_WAITING && !this.#paused) {
      this.#paused = true;
      this.#connection.pause();
    }
  }

  onResponseEnd(): void {
    if (this.#failure) return;
    this.#complete = true;
    this.#end();
    if (this.#paused) this.#connection.resume(false);
    this.#connection.release();
    if (this.#reading === 'text') this.#resolve(textOf(this.#body.take()));
    else this.#resolve(undefined);
  }

  onResponseError(_controller: unknown, cause: Error): void {
    if (this.#failure || this.#complete) return;
    if (this.#mayRepeat(cause)) {
      this.#repeated = true;
      this.#sent = false;
      // Undici must first handle the end of the connection.
      queueMicrotask(() => this.#failure ?? this.start());
      return;
    }
    if (isInvalid(cause)) this.#abort(cause);
    else this.#fail(this.status === 0 ? this.#errorFor(cause) : this.#lost(cause));
  }

  #requestHeaders(): string[] {
    const { headers } = this.#request;
    const common = this.#target.headers;
    const list: string[] = [];
    for (let at = 0; at < common.length; at += 2) {
      if (headers[common[at]!] === undefined) list.push(common[at]!, common[at + 1]!);
    }
    for (const name of Object.keys(headers)) list.push(name, headers[name]!);
    return list;
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
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#connection.resume(true);
  }

  #tooLarge(limit: number): AnswerLost {
    return new AnswerLost(`The answer of ${shown(this.#request.url)} is larger than ${limit} bytes`);
  }

  #isForwarded(): boolean {
    return this.#target.path.startsWith('http:');
  }

  /**
   * Whether the request certainly did not run because the server had closed this kept connection: nothing was written,
   * or the system did not accept the whole request, so the server cannot have the whole body.
   */
  #mayRepeat(cause: NodeJS.ErrnoException): boolean {
    if (!this.#connection.reused || this.#repeated || isInvalid(cause)) return false;
    return !this.#sent || (this.#request.body !== undefined && cause.syscall === 'write');
  }

  #errorFor(cause: NodeJS.ErrnoException): Error {
    const { proxy } = this.#target.pool.options;
    const why = cause.message || cause.code || 'unknown';
    const where = shown(this.#request.url);
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

/** Whether the request itself is invalid, for example a header. */
function isInvalid(cause: NodeJS.ErrnoException): boolean {
  return cause.code === 'UND_ERR_INVALID_ARG' || cause.code === 'UND_ERR_NOT_SUPPORTED';
}

function joined(name: string, values: readonly string[]): string {
  return name === 'content-type' || name === 'location' || name === 'retry-after' ? values[0]! : values.join(', ');
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
