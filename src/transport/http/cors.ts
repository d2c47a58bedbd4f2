import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpCall, HttpHeaders, HttpStream } from './call.ts';

const METHODS = 'GET, POST, DELETE';
/** What clients send beside the headers that need no leave (2025-11-25, transports: Streamable HTTP; basic/authorization). */
const HEADERS = 'content-type, accept, authorization, mcp-session-id, mcp-protocol-version, last-event-id';
/** Seconds that a browser need not ask again. */
const MAX_AGE = '600';

/** A call from a page of an allowed origin: whatever the answer is, the page may read it (Fetch, section 3.2: CORS). */
export class CorsCall implements HttpCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  readonly #call: HttpCall;
  readonly #headers: HttpHeaders;

  constructor(call: HttpCall, origin: string) {
    this.method = call.method;
    this.path = call.path;
    this.query = call.query;
    this.principal = call.principal;
    this.auth = call.auth;
    this.#call = call;
    this.#headers = {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'Mcp-Session-Id',
      vary: 'Origin',
    };
  }

  /** Whether the browser asks what the page may send. */
  get preflight(): boolean {
    return this.method === 'OPTIONS' && this.header('access-control-request-method') !== undefined;
  }

  answerPreflight(): void {
    this.respond(204, {
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': HEADERS,
      'access-control-max-age': MAX_AGE,
    });
  }

  get bodyBytes(): number {
    return this.#call.bodyBytes;
  }

  header(name: string): string | undefined {
    return this.#call.header(name);
  }

  readBody(limit: number, done: (body: Uint8Array | undefined) => void): void {
    this.#call.readBody(limit, done);
  }

  respond(status: number, headers: HttpHeaders, body?: string): void {
    this.#call.respond(status, { ...headers, ...this.#headers }, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return this.#call.stream(status, { ...headers, ...this.#headers });
  }
}
