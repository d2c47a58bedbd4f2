import type { AuthInfo } from '../../protocol/types.ts';
import type { HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';

const METHODS = 'GET, POST, DELETE';
/**
 * What clients send beside the headers that need no leave (2025-11-25 and 2026-07-28, transports: Streamable HTTP;
 * basic/authorization).
 */
const HEADERS = [
  'content-type',
  'accept',
  'authorization',
  'mcp-session-id',
  'mcp-protocol-version',
  'last-event-id',
  'mcp-method',
  'mcp-name',
];
/** Parameters of tools that clients repeat in headers, each under a name of its own (2026-07-28, transports: Custom Headers). */
const PARAMETER = /^mcp-param-[!#$%&'*+.^_`|~\w-]+$/;
/** What pages may read of an answer: the session's id, and what a client is asked to show (RFC 6750, section 3). */
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate';
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
      'access-control-expose-headers': EXPOSED,
      vary: 'Origin',
    };
  }

  /** Whether the browser asks what the page may send. */
  get preflight(): boolean {
    return this.method === 'OPTIONS' && this.header('access-control-request-method') !== undefined;
  }

  /** @param credentials further headers that a page may send, in lower case. */
  answerPreflight(credentials: Iterable<string> = []): void {
    const asked = (this.header('access-control-request-headers') ?? '').toLowerCase().split(',');
    const parameters = asked.map((name) => name.trim()).filter((name) => PARAMETER.test(name));
    this.respond(204, {
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': [...HEADERS, ...credentials, ...parameters].join(', '),
      'access-control-max-age': MAX_AGE,
    });
  }

  get bodyBytes(): number {
    return this.#call.bodyBytes;
  }

  get gone(): boolean {
    return this.#call.gone;
  }

  header(name: string): string | undefined {
    return this.#call.header(name);
  }

  readBody(limit: number, done: (body: Uint8Array | undefined) => void): void {
    this.#call.readBody(limit, done);
  }

  respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    this.#call.respond(status, { ...headers, ...this.#headers }, body);
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    return this.#call.stream(status, { ...headers, ...this.#headers });
  }
}
