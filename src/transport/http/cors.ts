import type { HttpBody, HttpCall, HttpHeaders, HttpStream } from './call.ts';
import { PassedCall } from './passed-call.ts';

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
export class CorsCall extends PassedCall {
  readonly #headers: HttpHeaders;

  constructor(call: HttpCall, origin: string) {
    super(call);
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

  override respond(status: number, headers: HttpHeaders, body?: HttpBody): void {
    super.respond(status, { ...headers, ...this.#headers }, body);
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    return super.stream(status, { ...headers, ...this.#headers });
  }
}
