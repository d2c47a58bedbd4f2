import type { HttpBody, HttpCall, HttpHeaders, HttpStream } from '../call.ts';
import { RewrittenCall } from '../rewritten-call.ts';

const METHODS = 'GET, POST, DELETE';
/**
 * Request headers of MCP clients that need permission in CORS (2025-11-25 and 2026-07-28, transports: Streamable HTTP;
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
/** Tool parameters that clients repeat in headers, each with its own name (2026-07-28, transports: Custom Headers). */
const PARAMETER = /^mcp-param-[!#$%&'*+.^_`|~\w-]+$/;
/** Response headers that pages may read: the session id, and the authentication challenge (RFC 6750, section 3). */
const EXPOSED = 'Mcp-Session-Id, WWW-Authenticate';
/** How long a browser may cache the permission. Seconds. */
const MAX_AGE = '600';

/** A call from a page of an allowed origin. The page may read any response (Fetch, section 3.2: CORS). */
export class CorsCall extends RewrittenCall {
  readonly #headers: HttpHeaders;

  constructor(call: HttpCall, origin: string) {
    super(call);
    this.#headers = {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED,
      vary: 'Origin',
    };
  }

  /** Whether this is the browser's preflight request. */
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

  override respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    super.respond(status, { ...headers, ...this.#headers }, body);
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    return super.stream(status, { ...headers, ...this.#headers });
  }
}
