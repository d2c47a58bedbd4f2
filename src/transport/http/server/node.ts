import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AuthInfo } from '../../../protocol/types.ts';
import { BodyBuffer } from '../body-buffer.ts';
import type { Holder } from '../../../base/buffer-budget.ts';
import type { BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpRefusal, HttpStream } from './call.ts';
import { CountedCall, type Shared } from './counted-call.ts';
import type { HttpHandler } from './handler.ts';
import { admitPipelined } from './pipelining.ts';
import { UNREAD } from './access/refusals.ts';
import { ResponseWriter } from './response-writer.ts';

/** What may have authenticated a request before it reaches the handler. */
export type NodeRequest = IncomingMessage & {
  principal?: string;
  authInfo?: AuthInfo;
  /** The body, if a framework has read it: text, bytes, or the parsed JSON value. */
  body?: unknown;
};

/**
 * Makes a listener from a handler, for `node:http` or a framework on top of it. Requests of one connection are answered
 * one after the other. A connection may have 100 unanswered requests. The next one is answered with 503 and closes the
 * connection.
 */
export function nodeListener(handler: HttpHandler): (request: NodeRequest, response: ServerResponse) => void {
  const answer = answerNode(handler);
  const refused = (refusal: HttpRefusal): void => handler.refused(refusal);
  return (request, response) => {
    if (admitPipelined(request, response, refused)) answer(request, response);
  };
}

/** Like `nodeListener`, for requests that are already admitted. */
export function answerNode(handler: HttpHandler): (request: NodeRequest, response: ServerResponse) => void {
  return (request, response) => {
    const handle = (): void => handler.handle(new NodeCall(request, response, handler));
    if (response.socket !== null) return handle();
    // Only safe methods may run in parallel here (RFC 9112, section 9.3.2). One answer at a time also bounds what a client
    // can request and not read.
    response.once('socket', handle);
  };
}

class NodeCall extends CountedCall implements HttpCall {
  readonly #request: NodeRequest;
  readonly #response: ServerResponse;
  readonly path: string;
  readonly query: string;

  constructor(request: NodeRequest, response: ServerResponse, server: Shared) {
    super(server);
    this.#request = request;
    this.#response = response;
    const url = originForm(request.url ?? '/');
    const mark = url.indexOf('?');
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get principal(): string | undefined {
    return this.#request.principal ?? this.#request.authInfo?.principal;
  }

  get auth(): AuthInfo | undefined {
    return this.#request.authInfo;
  }

  get address(): string | undefined {
    return this.#request.socket?.remoteAddress;
  }

  get gone(): boolean {
    return this.#response.destroyed;
  }

  header(name: string): string | undefined {
    // A framework that has read the body has also decoded it.
    if (name === 'content-encoding' && this.#request.body !== undefined) return undefined;
    const value = this.#request.headers[name];
    // `node:http` keeps the first of a repeated header. All readers must see the same value, so repeated headers are
    // joined.
    if (name === 'authorization' && value !== undefined) return allOf(this.#request, name);
    if (name === 'host') return this.#hosts();
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /**
   * All hosts that the request names, joined by commas: those of its `Host` headers, and the host of its target if that
   * differs.
   */
  #hosts(): string | undefined {
    const { headers, url = '' } = this.#request;
    if (headers.host === undefined) return undefined;
    const named = allOf(this.#request, 'host') || headers.host;
    const authority = AUTHORITY.exec(url)?.[1];
    return authority === undefined || authority.toLowerCase() === named.toLowerCase()
      ? named
      : `${named}, ${authority}`;
  }

  readBody(limit: number, share: string | undefined): Promise<Uint8Array | BodyRefusal> {
    this.share = share;
    return new Promise((resolve) => {
      // The request's listeners live longer than the body, so they must not hold a promise that holds the body.
      let settle: typeof resolve | undefined = resolve;
      this.#readBody(limit, (body) => {
        settle?.(body);
        settle = undefined;
      });
    });
  }

  #readBody(limit: number, done: (body: Uint8Array | BodyRefusal) => void): void {
    const request = this.#request;
    if (request.readableEnded || request.body !== undefined) return done(this.#parsedBody(limit));
    const declared = Number(request.headers['content-length']);
    if (declared > limit) return done('too large');
    const { budget } = this.server;
    const buffer = new BodyBuffer();
    let finished = false;
    const refuse = (why: BodyRefusal): void => {
      finished = true;
      buffer.take();
      budget.hold(unfinished, 0);
      done(why);
    };
    const unfinished: Holder = { held: 0, cutOff: () => refuse('no room') };
    // The listeners stay until the request is answered, so they must not hold the data they have read.
    request.on('data', (chunk: Buffer) => {
      if (finished) return;
      if (buffer.length + chunk.length > limit) return refuse('too large');
      buffer.push(chunk);
      if (buffer.length === declared) return;
      // If the client disconnects, there is no 'end' event and no client to answer.
      if (unfinished.held === 0) request.once('close', () => budget.hold(unfinished, 0));
      budget.hold(unfinished, buffer.capacity);
    });
    request.on('end', () => {
      if (finished) return;
      finished = true;
      if (unfinished.held > 0) budget.hold(unfinished, 0);
      done(this.counted(buffer.take()));
    });
  }

  /** The body that a framework has already read or parsed. */
  #parsedBody(limit: number): Uint8Array | BodyRefusal {
    const { body } = this.#request;
    const bytes =
      body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? ''));
    return bytes.length > limit ? 'too large' : this.counted(bytes);
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.release();
    if (answers.length === 0) setImmediate(writeAnswers);
    answers.push(() => this.#write(status, headers, body));
    joined += lengthOf(body);
    if (joined >= JOINED) writeAnswers();
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return new NodeStream(this, this.#response, this.server, status, headers);
  }

  #write(status: number, headers: HttpHeaders, body: HttpBody | undefined): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    // Names and values alternate: `node:http` takes this form without copying.
    const head: (string | number)[] = [];
    for (const name in headers) head.push(name, headers[name]!);
    const length = typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body);
    if (status !== 204) head.push('content-length', length);
    if (this.server.draining) closeAfter(response);
    response.writeHead(status, head as string[]);
    const writer = new ResponseWriter(response);
    writer.end(body, length);
    watchReader(response, writer, this.server.stallTimeout);
    if (writer.unread > 0) waitForReader(response, writer, this.server, length);
  }
}

/** In UTF-16 units for text, in bytes for anything else. */
function lengthOf(body: HttpBody = ''): number {
  return typeof body === 'string' ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** All values of a header, joined by commas. */
function allOf({ rawHeaders }: NodeRequest, name: string): string {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index]!;
    if (raw.length === name.length && raw.toLowerCase() === name) values.push(rawHeaders[index + 1]!);
  }
  return values.join(', ');
}

/** The most text of responses that are written together. A response counts against the budget only when it is written. */
const JOINED = 64 * 1024;

/**
 * The responses of this turn of the event loop, which are all written at its end. Waking the process at the other end
 * is the most expensive part of a write. Further writes while it is awake cost a third less.
 */
let answers: (() => void)[] = [];
/** The length of their text. */
let joined = 0;

function writeAnswers(): void {
  const ready = answers;
  answers = [];
  joined = 0;
  for (const write of ready) write();
}

/** Matches the scheme and host of an absolute request target, which a client may send (RFC 9112, section 3.2.2). */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/** The target of a request without scheme and host. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(AUTHORITY, '') || '/';
}

/**
 * Closes the connection after a response, and says so in the response. A client that sent its next request on it would lose
 * it with the connection, and could not know whether it ran (RFC 9112, section 9.6).
 */
function closeAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/** Counts a response until the kernel has taken all of it. */
function waitForReader(response: ServerResponse, writer: ResponseWriter, server: Shared, length: number): void {
  const { budget } = server;
  const cutOff = (): void => {
    server.refused(UNREAD);
    writer.destroy();
  };
  const unread: Holder = { held: 0, cutOff };
  budget.hold(unread, length);
  response.on('drain', () => writer.continue());
  response.once('close', () => budget.hold(unread, 0));
}

/** What a write that waits for its reader takes besides its text: 290 bytes, as measured. */
const WRITE_BYTES = 290;

class NodeStream implements HttpStream, Holder {
  ondrain: (() => void) | undefined;
  onclose: (() => void) | undefined;
  held = 0;
  readonly #call: NodeCall;
  readonly #response: ServerResponse;
  readonly #writer: ResponseWriter;
  readonly #server: Shared;
  /** How many writes wait for the reader. */
  #writes = 0;
  /** The bytes kept for the reader besides the written text. */
  #kept = 0;

  constructor(call: NodeCall, response: ServerResponse, server: Shared, status: number, headers: HttpHeaders) {
    this.#call = call;
    this.#response = response;
    this.#writer = new ResponseWriter(response);
    this.#server = server;
    response.on('drain', () => {
      if (!this.#writer.continue()) return;
      this.#writes = 0;
      this.#count(0);
      this.ondrain?.();
    });
    const close = (): void => this.#close();
    response.on('close', close);
    response.on('error', close);
    if (response.destroyed || response.headersSent) {
      setImmediate(close);
      return;
    }
    if (server.draining) closeAfter(response);
    response.writeHead(status, headers);
    // The client waits for the headers, and the first event may take long.
    response.flushHeaders();
  }

  write(text: string): boolean {
    const response = this.#response;
    if (response.destroyed || response.writableEnded || this.#writer.write(text)) return true;
    this.#writes += 1;
    this.#count(this.#writer.unread + this.#writes * WRITE_BYTES);
    return false;
  }

  end(): void {
    this.keep(-this.#kept);
    this.#writer.end();
    watchReader(this.#response, this.#writer, this.#server.stallTimeout);
  }

  destroy(): void {
    this.#writer.destroy();
  }

  cutOff(): void {
    this.#server.refused(UNREAD);
    this.destroy();
  }

  keep(bytes: number): void {
    const unread = this.held - this.#kept;
    this.#kept += bytes;
    this.#count(unread);
  }

  watch(timeout: number): void {
    // The time counts from the last byte that the kernel took, even within one large write.
    this.#response.setTimeout(timeout || usualTimeout(this.#response.socket));
  }

  #count(unread: number): void {
    if (this.#response.destroyed) return;
    this.#server.budget.hold(this, unread + this.#kept);
  }

  #close(): void {
    this.#server.budget.hold(this, 0);
    this.#call.release();
    this.onclose?.();
    this.onclose = undefined;
  }
}

/**
 * If the client reads nothing of the rest of an ended response, it is disconnected: `node:http` would wait without limit.
 */
function watchReader(response: ServerResponse, writer: ResponseWriter, stallTimeout: number): void {
  if (writer.unread === 0) return;
  const { socket } = response;
  response.setTimeout(stallTimeout);
  // The connection may serve other requests, which may be quiet for longer.
  response.once('finish', () => socket?.setTimeout(usualTimeout(socket)));
}

/** The timeout that the owner of the server has set for its connections. */
function usualTimeout(socket: Socket | null): number {
  return (socket as { server?: Server } | null)?.server?.timeout ?? 0;
}
