import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';
import type { HttpHandler } from './handler.ts';

/** What may have authenticated a request before it reaches the handler. */
export type NodeRequest = IncomingMessage & {
  principal?: string;
  authInfo?: AuthInfo;
  /** The body, where a framework has read it: text, bytes, or the JSON value that it holds. */
  body?: unknown;
};

/** Makes a listener for `node:http`, or for a framework that passes its requests on, of a handler. */
export function nodeListener(handler: HttpHandler): (request: NodeRequest, response: ServerResponse) => void {
  return (request, response) => handler.handle(new NodeCall(request, response, handler.stallTimeout));
}

class NodeCall implements HttpCall {
  readonly #request: NodeRequest;
  readonly #response: ServerResponse;
  readonly #stallTimeout: number;
  readonly path: string;
  readonly query: string;
  bodyBytes = 0;

  constructor(request: NodeRequest, response: ServerResponse, stallTimeout: number) {
    this.#request = request;
    this.#response = response;
    this.#stallTimeout = stallTimeout;
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

  get gone(): boolean {
    return this.#response.destroyed;
  }

  header(name: string): string | undefined {
    // A framework that has read the body has decoded it too.
    if (name === 'content-encoding' && this.#request.body !== undefined) return undefined;
    const value = this.#request.headers[name];
    // `node:http` keeps the first of several: which one counts must not depend on who reads them.
    if (name === 'authorization' && value !== undefined) return allOf(this.#request, name);
    return Array.isArray(value) ? value.join(', ') : value;
  }

  readBody(limit: number, done: (body: Uint8Array | undefined) => void): void {
    const request = this.#request;
    if (request.readableEnded || request.body !== undefined) return done(this.#takenBody(limit));
    const declared = request.headers['content-length'];
    if (declared !== undefined && Number(declared) > limit) return done(undefined);
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let length = 0;
    let finished = false;
    const finish = (body: Uint8Array | undefined): void => {
      if (finished) return;
      finished = true;
      // The listeners stay with the request until it is answered; what they have read must not.
      more = first = undefined;
      this.bodyBytes = length;
      done(body);
    };
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) return finish(undefined);
      if (finished) return;
      if (!first) first = chunk;
      else (more ??= [first]).push(chunk);
    });
    request.on('end', () => finish(more ? Buffer.concat(more, length) : (first ?? Buffer.alloc(0))));
    // Where the client breaks off there is neither an end nor anybody to answer.
  }

  /** A framework has read the body before, and left what it made of it. */
  #takenBody(limit: number): Uint8Array | undefined {
    const { body } = this.#request;
    const bytes =
      body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? ''));
    this.bodyBytes = bytes.length;
    return bytes.length > limit ? undefined : bytes;
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    if (answers.length === 0) setImmediate(writeAnswers);
    answers.push(() => this.#write(status, headers, body));
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return new NodeStream(this.#response, this.#stallTimeout, status, headers);
  }

  #write(status: number, headers: HttpHeaders, body: HttpBody | undefined): void {
    const response = this.#response;
    if (response.headersSent || response.destroyed) return;
    // Names and values in turn: the form that `node:http` takes as it is.
    const head: (string | number)[] = [];
    for (const name in headers) head.push(name, headers[name]!);
    if (status !== 204) head.push('content-length', lengthOf(body));
    response.writeHead(status, head as string[]);
    endResponse(response, this.#stallTimeout, body);
  }
}

function lengthOf(body: HttpBody | undefined): number {
  if (body === undefined) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, { length }) => sum + length, 0);
}

/** A header as it came, however often, joined by commas. */
function allOf({ rawHeaders }: NodeRequest, name: string): string {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.toLowerCase() === name) values.push(rawHeaders[index + 1]!);
  }
  return values.join(', ');
}

/**
 * Answers of this turn of the event loop, all written at its end. To wake the process at the other end of a socket is
 * the dearest part of a write, and those that it is still awake for cost a third less.
 */
let answers: (() => void)[] = [];

function writeAnswers(): void {
  const ready = answers;
  answers = [];
  for (const write of ready) write();
}

/** The target of a request without scheme and host, which a client may send (RFC 9112, section 3.2.2). */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
}

class NodeStream implements HttpStream {
  ondrain: (() => void) | undefined;
  onclose: (() => void) | undefined;
  readonly #response: ServerResponse;
  readonly #stallTimeout: number;

  constructor(response: ServerResponse, stallTimeout: number, status: number, headers: HttpHeaders) {
    this.#response = response;
    this.#stallTimeout = stallTimeout;
    response.on('drain', () => this.ondrain?.());
    const close = (): void => {
      this.onclose?.();
      this.onclose = undefined;
    };
    response.on('close', close);
    response.on('error', close);
    if (response.destroyed || response.headersSent) {
      setImmediate(close);
      return;
    }
    response.writeHead(status, headers);
    // A client waits for the head, and an event may be long in coming.
    response.flushHeaders();
  }

  write(text: string): boolean {
    return this.#response.destroyed || this.#response.writableEnded || this.#response.write(text);
  }

  end(): void {
    endResponse(this.#response, this.#stallTimeout);
  }

  destroy(): void {
    this.#response.destroy();
  }

  watch(timeout: number): void {
    // It counts from the last byte that the kernel took, also in the middle of one large write.
    this.#response.setTimeout(timeout || usualTimeout(this.#response.socket));
  }
}

/** Ends a response. A reader that takes nothing of what is left is cut off: `node:http` would wait for it for ever. */
function endResponse(response: ServerResponse, stallTimeout: number, body?: HttpBody): void {
  if (typeof body === 'object') {
    response.cork();
    for (const part of body) response.write(part);
    response.end();
  } else response.end(body);
  if (response.writableLength === 0) return;
  const { socket } = response;
  response.setTimeout(stallTimeout);
  // The connection may serve other requests, which may be quiet for longer.
  response.once('finish', () => socket?.setTimeout(usualTimeout(socket)));
}

/** What the owner of the server has set for its connections. */
function usualTimeout(socket: Socket | null): number {
  return (socket as { server?: Server } | null)?.server?.timeout ?? 0;
}
