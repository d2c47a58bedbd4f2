import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { inThisContext } from '../../../base/in-this-context.ts';
import { isObject } from '../../../jsonrpc/message.ts';
import type { AuthInfo } from '../../../protocol/types.ts';
import { BodyReader } from './body-reader.ts';
import type { BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpRefusal, HttpStream } from './call.ts';
import { CountedCall, type Shared } from './counted-call.ts';
import type { HttpHandler } from './handler.ts';
import type { Outgoing } from './outgoing.ts';
import { admitPipelined } from './pipelining.ts';
import { hostsOf, originForm } from './request-target.ts';
import { respond, ResponseStream } from './response.ts';

/** What may have authenticated a request before it reaches the handler. */
export type NodeRequest = IncomingMessage & {
  principal?: string;
  authInfo?: AuthInfo;
  /** The body, if a framework has read it: text, bytes, or the parsed JSON value. */
  body?: unknown;
  /** The target of the request, if a framework has changed `url`: Express removes the path of `app.use(path, …)`. */
  originalUrl?: string;
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
    // can request and not read. The event loop runs in between, so that many large answers do not delay others.
    const handleLater = inThisContext(() => setImmediate(handle));
    response.once('socket', handleLater);
  };
}

class NodeCall extends CountedCall implements HttpCall {
  readonly #request: NodeRequest;
  readonly #outgoing: Outgoing;
  readonly path: string;
  readonly originalPath: string | undefined;
  readonly query: string;

  constructor(request: NodeRequest, response: ServerResponse, server: Shared) {
    super(server);
    this.#request = request;
    this.#outgoing = new NodeOutgoing(response);
    const url = originForm(request.url ?? '/');
    this.path = pathOf(url);
    this.query = url.slice(this.path.length + 1);
    this.originalPath = request.originalUrl === undefined ? undefined : pathOf(originForm(request.originalUrl));
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
    return this.#outgoing.destroyed;
  }

  header(name: string): string | undefined {
    // A framework that has read the body has also decoded it.
    if (name === 'content-encoding' && hasBody(this.#request)) return undefined;
    const value = this.#request.headers[name];
    // `node:http` keeps the first of a repeated header. All readers must see the same value, so repeated headers are
    // joined.
    if (name === 'authorization' && value !== undefined) return allOf(this.#request, name);
    if (name === 'host') return this.#hosts();
    return Array.isArray(value) ? value.join(', ') : value;
  }

  #hosts(): string | undefined {
    const { headers, url = '' } = this.#request;
    // `node:http2`: HTTP/2 has the host in a pseudo-header (RFC 9113, section 8.3.1).
    const authority = headers[':authority'];
    const host = headers.host ?? authority;
    if (typeof host !== 'string') return undefined;
    return hostsOf(allOf(this.#request, 'host') || host, authority === undefined ? url : `http://${String(authority)}`);
  }

  readBody(limit: number, share: string | undefined): Promise<Uint8Array | BodyRefusal> {
    this.share = share;
    return new Promise((resolve) => this.#readBody(limit, resolve));
  }

  #readBody(limit: number, done: (body: Uint8Array | BodyRefusal) => void): void {
    const request = this.#request;
    if (hasBody(request)) return done(this.#parsedBody(limit));
    // The server has waited, for example for a check of a credential. What has been read meanwhile is lost.
    if (request.readableEnded || request.readableDidRead) return done('consumed');
    const declared = Number(request.headers['content-length']);
    if (declared > limit) return done('too large');
    readInto(
      request,
      new BodyReader(limit, declared, this.server.budget, (body) =>
        done(typeof body === 'string' ? body : this.counted(body)),
      ),
    );
  }

  /** The body that a framework has already read or parsed. */
  #parsedBody(limit: number): Uint8Array | BodyRefusal {
    const { body } = this.#request;
    const bytes =
      body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    return bytes.length > limit ? 'too large' : this.counted(bytes);
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.release();
    respond(this.#outgoing, this.server, status, headers, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return new ResponseStream(this, this.#outgoing, this.server, status, headers);
  }
}

/** A function of its own: the listeners live longer than the body, so they must not share variables with what holds it. */
function readInto(request: NodeRequest, reader: BodyReader): void {
  request.on('data', (chunk: Buffer) => {
    const { held } = reader;
    reader.push(chunk);
    // If the client disconnects, there is no 'end' event and no client to answer.
    if (held === 0 && reader.held > 0) request.once('close', () => reader.close());
  });
  request.on('end', () => reader.end());
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

/**
 * Whether a framework has read the body into `request.body`. The parsers of Express 4 also set it to an empty object if they
 * leave the body unread.
 */
function hasBody({ body, readableDidRead, readableEnded }: NodeRequest): boolean {
  if (body === undefined || readableEnded || readableDidRead) return body !== undefined;
  return !isObject(body) || body instanceof Uint8Array || Object.keys(body).length > 0;
}

function pathOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

/** A response of `node:http`, or of `node:http2`, where its state is in a stream. */
class NodeOutgoing implements Outgoing {
  readonly mayBeWrapped = true;
  readonly #response: ServerResponse & { readonly stream?: { readonly destroyed: boolean } };
  #watched = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get destroyed(): boolean {
    return (this.#response.stream ?? this.#response).destroyed;
  }

  get headersSent(): boolean {
    return this.#response.headersSent;
  }

  get writableEnded(): boolean {
    return this.#response.writableEnded;
  }

  get writableLength(): number {
    return this.#response.writableLength;
  }

  get writableNeedDrain(): boolean {
    return this.#response.writableNeedDrain;
  }

  set ondrain(listener: () => void) {
    this.#response.on('drain', listener);
  }

  set onclose(listener: () => void) {
    this.#response.once('close', listener);
    this.#response.on('error', ignore);
  }

  begin(status: number, headers: HttpHeaders, length: number | undefined, last: boolean): void {
    const response = this.#response;
    // A client that sent its next request on a connection that closes would lose it, and could not know whether it ran
    // (RFC 9112, section 9.6).
    if (last) response.shouldKeepAlive = false;
    // Names and values alternate: `node:http` takes this form without copying.
    const head: (string | number)[] = [];
    for (const name in headers) head.push(name, headers[name]!);
    if (length !== undefined && status !== 204) head.push('content-length', length);
    response.writeHead(status, head as string[]);
    // The client of a stream waits for the headers, and the first event may take long.
    if (length === undefined) response.flushHeaders();
  }

  write(data: string | Uint8Array, encoding: BufferEncoding = 'utf8'): boolean {
    return this.#response.write(data, encoding);
  }

  end(data?: string | Uint8Array, encoding: BufferEncoding = 'utf8'): void {
    this.#response.end(data, encoding);
  }

  cork(): void {
    this.#response.cork();
  }

  destroy(): void {
    this.#response.destroy();
  }

  watch(timeout: number): void {
    const response = this.#response;
    const { socket } = response;
    // What adapts `node:http` to functions, such as serverless-http, collects the response in memory.
    if (socket && typeof socket.setTimeout !== 'function') return;
    response.setTimeout(timeout || usualTimeout(socket));
    if (this.#watched) return;
    this.#watched = true;
    // `node:http` does this itself.
    if (response.stream) response.on('timeout', () => response.destroy());
    // The connection may serve other requests, which may be quiet for longer.
    response.once('finish', () => socket?.setTimeout(usualTimeout(socket)));
  }
}

function ignore(): void {}

/** The timeout that the owner of the server has set for its connections. */
function usualTimeout(socket: Socket | null): number {
  return (socket as { server?: Server } | null)?.server?.timeout ?? 0;
}
