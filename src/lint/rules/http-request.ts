import { profileOf } from '../../protocol/revisions.ts';
import { clauses, onPage } from '../clauses.ts';
import type { ExchangeEvent } from '../model/events.ts';
import { listedIn } from '../model/http-head.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shownHeader } from './shown.ts';

const VERSION = 'mcp-protocol-version';

/** The heads of a client's HTTP requests. */
export const HTTP_REQUEST_RULES: readonly WireRule[] = [
  onEvent('request', {
    id: 'http-accept-post',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '12', '12', '14'], 'basic/transports/streamable-http 8'),
    right: 'The `Accept` header of a POST lists `application/json` and `text/event-stream`.',
    check: (event) => {
      if (!isStreamable(event, 'POST')) return undefined;
      const accept = event.exchange.request.get('accept');
      const listed = listedIn(accept);
      const isRight = listed.includes('application/json') && listed.includes('text/event-stream');
      return isRight || shownHeader('Accept', accept);
    },
  }),
  onEvent('request', {
    id: 'http-accept-get',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '24', '24', '29']),
    right: 'The `Accept` header of a GET lists `text/event-stream`.',
    check: (event) => {
      if (!isStreamable(event, 'GET')) return undefined;
      const accept = event.exchange.request.get('accept');
      return listedIn(accept).includes('text/event-stream') || shownHeader('Accept', accept);
    },
  }),
  onEvent('request', {
    id: 'http-content-type-post',
    area: 'http',
    severity: 'warning',
    clauses: onPage('basic/transports', ['', '', '', ''], 'basic/transports/streamable-http'),
    right: 'The `Content-Type` of a POST is `application/json`.',
    check: ({ exchange: { method, request } }) => {
      if (method !== 'POST') return undefined;
      return request.mediaType === 'application/json' || shownHeader('Content-Type', request.get('content-type'));
    },
  }),
  onEvent('request', {
    id: 'http-method',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', ['11', '11', '11', '13'], 'basic/transports/streamable-http 7'),
    right: 'A client sends messages by POST.',
    check: ({ exchange: { method, hasMessage } }) =>
      hasMessage ? method === 'POST' || `a message by ${method}` : undefined,
  }),
  onEvent('request', {
    id: 'http-version-header-missing',
    area: 'http',
    severity: 'error',
    clauses: clauses(
      undefined,
      undefined,
      'basic/lifecycle 13; basic/transports 40',
      'basic/lifecycle 13; basic/transports 48',
      'basic/transports/streamable-http 23',
    ),
    right: 'After the handshake, and in each request of 2026-07-28, `MCP-Protocol-Version` names the revision.',
    check: ({ exchange, revisions }) => {
      if (exchange.initializes || revisions.length > 1) return undefined;
      // 2026-07-28 defines no headers for notifications.
      if (profileOf(revisions[0]!)!.era === 'modern' && !exchange.hasRequest) return undefined;
      return exchange.request.get(VERSION) !== undefined || 'no MCP-Protocol-Version';
    },
  }),
  onEvent('request', {
    id: 'http-version-header-negotiated',
    area: 'http',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, undefined, '41', '49']),
    right: 'The revision in `MCP-Protocol-Version` is the negotiated one.',
    check: ({ exchange, conversation: { revision, isShared } }) => {
      const named = exchange.request.get(VERSION);
      if (named === undefined || revision === undefined || isShared || exchange.initializes) return undefined;
      return named === revision || `MCP-Protocol-Version: ${named}, after ${revision} was negotiated`;
    },
  }),
  onEvent('request', {
    id: 'http-token-in-query',
    area: 'authorization',
    severity: 'error',
    clauses: onPage('basic/authorization', [undefined, '19', '27', '52'], 'basic/authorization/index 36'),
    right: 'An access token is sent in the `Authorization` header, and never in the query of a URL.',
    check: ({ exchange: { target } }) => {
      if (!target.includes('?')) return true;
      return !/[?&]access_token=/i.test(target) || 'access_token in the query';
    },
  }),
  onEvent('request', {
    id: 'http-authorization-scheme',
    area: 'authorization',
    severity: 'advice',
    clauses: onPage('basic/authorization', [undefined, '17', '25', '50'], 'basic/authorization/index 34'),
    right: 'The `Authorization` header begins with `Bearer`.',
    check: ({ exchange: { request } }) => {
      const value = request.get('authorization');
      // A recording masks the value, but not the scheme, if it is a known one.
      if (value === undefined || value.startsWith('*')) return undefined;
      return /^(bearer|dpop) /i.test(value) || `the scheme ${value.split(' ', 1)[0]!.slice(0, 20)}`;
    },
  }),
  onEvent('request', {
    id: 'session-used-after-404',
    area: 'session',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '38', '38', '46']),
    right: 'After a 404 for its session, a client begins a new one without a session id.',
    check: ({ exchange, conversation: { session, gone } }) => {
      if (session === undefined || gone === undefined || exchange.method === 'DELETE') return undefined;
      return exchange.n < gone || `the session again, after the 404 in record ${gone}`;
    },
  }),
];

/** Whether a request is one of Streamable HTTP, and not of the older HTTP+SSE. */
function isStreamable({ exchange, conversation }: ExchangeEvent, method: string): boolean {
  return exchange.method === method && conversation.carriage === 'http';
}
