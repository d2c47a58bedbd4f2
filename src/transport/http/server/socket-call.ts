import type { BodyRefusal, HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';
import { BodyReader } from './body-reader.ts';
import { CountedCall, type Shared } from './counted-call.ts';
import type { RequestHead } from './request-parser.ts';
import { hostsOf, originForm } from './request-target.ts';
import { respond, ResponseStream } from './response.ts';
import type { SocketResponse } from './socket-response.ts';

/** The connection of a call. */
export interface CallConnection {
  readonly address: string | undefined;
  /** Called when someone reads the body. */
  onbody(): void;
}

/** One request on a connection of our own HTTP server. */
export class SocketCall extends CountedCall implements HttpCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal = undefined;
  readonly auth = undefined;
  readonly response: SocketResponse;
  /** Whether the whole request has come. */
  complete = false;
  readonly #head: RequestHead;
  readonly #connection: CallConnection;
  #body: BodyReader | undefined;

  constructor(connection: CallConnection, head: RequestHead, response: SocketResponse, server: Shared) {
    super(server);
    this.#connection = connection;
    this.#head = head;
    this.response = response;
    this.method = head.method;
    const target = originForm(head.target);
    const mark = target.indexOf('?');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
  }

  get address(): string | undefined {
    return this.#connection.address;
  }

  get gone(): boolean {
    return this.response.destroyed;
  }

  /** Whether the body can be read now: someone wants it, or it is discarded. */
  get takesBody(): boolean {
    return this.#body !== undefined || this.response.headersSent;
  }

  header(name: string): string | undefined {
    const value = this.#head.headers.get(name);
    return name === 'host' && value !== undefined ? hostsOf(value, this.#head.target) : value;
  }

  readBody(limit: number, share: string | undefined): Promise<Uint8Array | BodyRefusal> {
    this.share = share;
    return new Promise((resolve) => {
      const declared = Number(this.#head.headers.get('content-length') ?? NaN);
      const done = (body: Uint8Array | BodyRefusal): void =>
        resolve(typeof body === 'string' ? body : this.counted(body));
      const body = new BodyReader(limit, declared, this.server.budget, done);
      this.#body = body;
      if (this.complete) body.end();
      else if (body.wanted && !this.gone) this.#connection.onbody();
    });
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.release();
    respond(this.response, this.server, status, headers, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return new ResponseStream(this, this.response, this.server, status, headers);
  }

  ondata(bytes: Uint8Array): void {
    this.#body?.push(bytes);
  }

  onend(): void {
    this.complete = true;
    this.#body?.end();
  }

  /** The client has left. */
  close(): void {
    this.#body?.close();
    this.release();
    this.response.destroyed = true;
    this.response.finish();
  }
}
