import { ErrorCode } from '../../jsonrpc/errors.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { Meta } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { clauses, onPage } from '../clauses.ts';
import type { ExchangeEvent, MessageEvent } from '../model/events.ts';
import type { Exchange } from '../model/exchange.ts';
import { onEvent, type Outcome, type WireRule } from '../rule.ts';
import { shownHeader } from './shown.ts';

/** Statuses that do not depend on MCP: authorization, limits, and failures of the server. */
const OF_HTTP: ReadonlySet<number> = new Set([401, 403, 407, 408, 413, 421, 429]);

/** HTTP responses. */
export const HTTP_RESPONSE_RULES: readonly WireRule[] = [
  onEvent('response', {
    id: 'http-notification-status',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '14', '14', '16'], 'basic/transports/streamable-http 12'),
    right: 'An accepted notification or response is answered with 202.',
    check: ({ exchange, conversation }) => {
      if (conversation.carriage !== 'http' || !isUnasked(exchange) || exchange.status >= 300) return undefined;
      return exchange.status === 202 || `status ${exchange.status}`;
    },
  }),
  onEvent('exchange', {
    id: 'http-202-body',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '14', '14', '16'], 'basic/transports/streamable-http 12'),
    right: 'A 202 has no body.',
    check: ({ exchange, conversation }) => {
      if (conversation.carriage !== 'http' || !isUnasked(exchange) || exchange.status !== 202) return undefined;
      return exchange.contentSize === 0 || `a body of ${exchange.contentSize} bytes`;
    },
  }),
  onEvent('response', {
    id: 'http-request-response-type',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '16', '16', '18'], 'basic/transports/streamable-http 14'),
    right: 'A request is answered with `application/json` or `text/event-stream`.',
    check: ({ exchange, conversation }) => {
      const { asks, status, response, method } = exchange;
      if (conversation.carriage !== 'http' || method !== 'POST' || !asks || status >= 300) return undefined;
      const type = response!.mediaType;
      const isRight = status !== 202 && status !== 204 && (type === 'application/json' || exchange.isStream);
      return isRight || `status ${status}, ${shownHeader('Content-Type', response!.get('content-type'))}`;
    },
  }),
  onEvent('response', {
    id: 'http-get-response',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '25', '25', '30']),
    right: 'A GET is answered with `text/event-stream`, or with 405.',
    check: ({ exchange, conversation, revisions }) => {
      const { method, status, request, response } = exchange;
      // Without a revision, a client may look for a server of 2026-07-28, or of HTTP+SSE.
      if (conversation.carriage !== 'http' || method !== 'GET' || revisions.length > 1) return undefined;
      if (status < 300) return exchange.isStream || shownHeader('Content-Type', response!.get('content-type'));
      // A session may be unknown, and a server may require one.
      if (status === 404 && request.get('mcp-session-id') === undefined) return 'status 404';
      return status === 405 ? true : undefined;
    },
  }),
  onEvent('response', {
    id: 'http-version-header-nonsense',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, undefined, '43', '51'], 'basic/transports/streamable-http 26'),
    right: 'A request whose `MCP-Protocol-Version` the server does not support is answered with 400.',
    check: ({ exchange: { request, status } }) => {
      const named = request.get('mcp-protocol-version');
      // A later revision may exist, and the server may support it.
      if (named === undefined || /^\d{4}-\d\d-\d\d$/.test(named) || OF_HTTP.has(status) || status >= 500)
        return undefined;
      return status === 400 || `status ${status} for MCP-Protocol-Version: ${named}`;
    },
  }),
  onEvent('response', {
    id: 'session-id-characters',
    area: 'session',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '34', '34', '41']),
    right: 'A session id has only visible ASCII characters, and at least one.',
    check: ({ exchange: { response } }) => {
      const id = response!.get('mcp-session-id');
      return id === undefined ? undefined : /^[!-~]+$/.test(id) || `Mcp-Session-Id: ${JSON.stringify(id)}`;
    },
  }),
  onEvent('response', {
    id: 'session-id-length',
    area: 'session',
    severity: 'advice',
    clauses: onPage('basic/transports', [undefined, '33', '33', '40']),
    right: 'A session id is globally unique and cannot be guessed: it has at least 16 characters.',
    check: ({ exchange: { response, initializes } }) => {
      const id = response!.get('mcp-session-id');
      return id === undefined || !initializes ? undefined : id.length >= 16 || `an id of ${id.length} characters`;
    },
  }),
  onEvent('response', {
    id: 'session-ended-404',
    area: 'session',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '37', '37', '45']),
    right: 'A request for a session that has ended is answered with 404.',
    check: ({ exchange, conversation: { ended } }) => {
      const { status, n } = exchange;
      if (ended === undefined || n < ended || OF_HTTP.has(status) || status >= 500) return undefined;
      return status === 404 || `status ${status}, after the session ended in record ${ended}`;
    },
  }),
  onEvent('response', {
    id: 'http-challenge-missing',
    area: 'authorization',
    severity: 'error',
    clauses: onPage('basic/authorization', [undefined, '21', '12,30', '55'], 'basic/authorization/index 39'),
    right: 'A 401 has a `WWW-Authenticate` header with a challenge.',
    check: ({ exchange: { status, response } }) =>
      status === 401 ? response!.get('www-authenticate') !== undefined || '401 without WWW-Authenticate' : undefined,
  }),
  onEvent('response', {
    id: 'http-challenge-metadata',
    area: 'authorization',
    severity: 'error',
    clauses: clauses(undefined, undefined, 'basic/authorization 12'),
    right: 'The challenge of a 401 has the URL of the protected resource metadata.',
    check: (event) => challengeHas(event, 401, /resource_metadata\s*=/i),
  }),
  onEvent('response', {
    id: 'http-challenge-scope',
    area: 'authorization',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'basic/authorization 15', 'basic/authorization/index 12'),
    right: 'The challenge of a 401 names the required scopes.',
    check: (event) => challengeHas(event, 401, /[\s,]scope\s*=/i),
  }),
  onEvent('response', {
    id: 'http-insufficient-scope',
    area: 'authorization',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'basic/authorization 61,62', 'basic/authorization/index 49,50'),
    right: 'A 403 with a challenge for `insufficient_scope` names the scopes that the request needs.',
    check: (event) => challengeHas(event, 403, /[\s,]scope\s*=/i, 'insufficient_scope'),
  }),
  onEvent('message', {
    id: 'http-error-status',
    area: 'http',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 52,56; basic/transports/streamable-http 25,26,27,56,67,68' },
    right:
      'Errors of the protocol have HTTP statuses: 404 for −32601, 400 for −32020, −32021, −32022 and missing metadata.',
    check: (event) => {
      const { kind, from, exchange } = event;
      const wanted = kind === 'error' && from === 'server' ? statusOf(event) : undefined;
      if (wanted === undefined || !exchange) return undefined;
      return exchange.status === wanted || `status ${exchange.status} for ${event.error['code']}`;
    },
  }),
];

/** Judges the challenge of a response with this status. @param about what the challenge must be about. */
function challengeHas({ exchange }: ExchangeEvent, status: number, part: RegExp, about = ''): Outcome {
  const challenge = exchange.response!.get('www-authenticate');
  if (exchange.status !== status || !challenge?.includes(about)) return undefined;
  return part.test(challenge) || `WWW-Authenticate: ${challenge}`;
}

/** Whether a POST has messages, and none of them asks for an answer. */
function isUnasked({ method, messages, asks }: Exchange): boolean {
  return method === 'POST' && messages.length > 0 && !asks;
}

const STATUSES: ReadonlyMap<unknown, number> = new Map([
  [ErrorCode.MethodNotFound, 404],
  [McpErrorCode.HeaderMismatch, 400],
  [McpErrorCode.MissingRequiredClientCapability, 400],
  [McpErrorCode.UnsupportedProtocolVersion, 400],
]);

/** The status that an error has in 2026-07-28. Undefined if none is required. */
function statusOf({ error, about, revisions }: MessageEvent): number | undefined {
  if (revisions.length > 1 || profileOf(revisions[0]!)!.era !== 'modern') return undefined;
  if (error['code'] !== ErrorCode.InvalidParams) return STATUSES.get(error['code']);
  // The params of a request may be forgotten.
  const params = about?.params;
  return params && params['_meta']?.[Meta.ClientCapabilities] === undefined ? 400 : undefined;
}
