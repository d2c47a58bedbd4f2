import { Meta, NotificationMethod } from '../../protocol/methods.ts';
import { profileOf, type Revision } from '../../protocol/revisions.ts';
import { clauses, onPage } from '../clauses.ts';
import { isBroadcast } from '../model/broadcast.ts';
import type { SeenRequest } from '../model/requests.ts';
import { MAX_BATCH, type Exchange } from '../model/exchange.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

/** The revisions whose servers may send messages on several streams of a session. */
const WITH_SESSIONS: readonly Revision[] = ['2025-03-26', '2025-06-18', '2025-11-25'];

/** Event streams. */
export const SSE_RULES: readonly WireRule[] = [
  onEvent('frame', {
    id: 'sse-event-id-unique',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '30', '30', '36']),
    right: 'An event id is unique among all streams of its session.',
    check: ({ frame: { id }, conversation, earlier, exchange }) => {
      if (id === undefined || id === '' || conversation.session === undefined || exchange.resumes) return undefined;
      return earlier === undefined || `the id ${shown(id)} was used in record ${earlier.n}`;
    },
  }),
  onEvent('frame', {
    id: 'sse-replay-other-stream',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '28,32', '28,32', '34,37,39']),
    right: 'A client that resumes a stream gets only the messages of this stream again.',
    check: ({ earlier, exchange }) => {
      if (!exchange.resumes || earlier?.stream === undefined || exchange.stream === undefined) return undefined;
      return earlier.stream === exchange.stream || `the event of record ${earlier.n}, which was on another stream`;
    },
  }),
  onEvent('frame', {
    id: 'sse-priming-event',
    area: 'sse',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'basic/transports 20'),
    right: 'The stream for a request other than `initialize` begins with an event that has an id and empty data.',
    check: ({ isFirst, frame, exchange, conversation }) => {
      if (!isFirst || exchange.method !== 'POST' || conversation.carriage !== 'http') return undefined;
      // The answer on this stream negotiates the revision (basic/lifecycle, version negotiation).
      if (exchange.initializes) return undefined;
      const isRight = frame.id !== undefined && frame.id !== '' && frame.data === '';
      return isRight || `a first event ${frame.id === undefined ? 'without an id' : 'with data'}`;
    },
  }),
  onEvent('frame', {
    id: 'sse-endpoint-first',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', ['10', '', '', '']),
    right: 'An HTTP+SSE stream begins with the event `endpoint`, whose data is the URI for messages.',
    check: ({ frame, isFirst }) => {
      if (frame.event !== 'endpoint') return undefined;
      return isFirst ? (frame.data ?? '') !== '' || 'an endpoint without a URI' : 'endpoint after another event';
    },
  }),
  onEvent('frame', {
    id: 'sse-data-message',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', ['', '16', '16', '18'], 'basic/transports/streamable-http 14'),
    right: 'The data of an event is a JSON-RPC message.',
    check: ({ frame: { data, event }, isCutOff }) => {
      if (data === undefined || data === '' || isCutOff || (event !== undefined && event !== 'message'))
        return undefined;
      return /^\s*[{[]/.test(data) || `the data ${shown(data)}`;
    },
  }),
  onEvent('frame', {
    id: 'sse-event-name',
    area: 'sse',
    severity: 'advice',
    clauses: onPage('basic/transports', ['', '', '', ''], 'basic/transports/streamable-http'),
    right: 'Events with messages have no name, or the name `message`: clients ignore others.',
    check: ({ frame: { data, event } }) => {
      if (data === undefined || data === '' || event === 'endpoint') return undefined;
      return event === undefined || event === '' || event === 'message' || `the event ${shown(event)}`;
    },
  }),
  onEvent('frame', {
    id: 'sse-field',
    area: 'sse',
    severity: 'advice',
    clauses: onPage('basic/transports', ['', '', '', ''], 'basic/transports/streamable-http'),
    right: 'The fields of an event are `data`, `event`, `id` and `retry`: others are ignored.',
    check: ({ frame: { unknownFields, retry } }) => {
      const [unknown] = unknownFields;
      if (unknown !== undefined) return `the field ${shown(unknown)}`;
      return retry === undefined || /^\d+$/.test(retry) || `retry: ${retry}`;
    },
  }),
  onEvent('exchange', {
    id: 'sse-ends-unanswered',
    area: 'sse',
    severity: 'warning',
    clauses: onPage(
      'basic/transports',
      [undefined, '18,20', '18,20', '24'],
      'basic/transports/streamable-http; basic/patterns/subscriptions 6',
    ),
    right: 'The stream for a request contains its response before the server closes it.',
    check: ({ exchange, conversation }) => {
      const { isStream, isWhole, asks, method, lastEventId, isOpaque } = exchange;
      if (!isStream || method !== 'POST' || !asks || isOpaque || conversation.carriage !== 'http') return undefined;
      const left = leftOpen(exchange);
      if (!left) return true;
      // A client may resume a stream whose events have ids.
      return !isWhole || lastEventId !== undefined ? undefined : `no response to ${left.method}`;
    },
  }),
  onEvent('exchange', {
    id: 'sse-retry-missing',
    area: 'sse',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'basic/transports 22,33'),
    right: 'A server that closes a connection before the stream ends sends `retry` first.',
    check: ({ exchange }) => {
      const { isStream, isWhole, lastEventId, hasRetry, asks, initializes } = exchange;
      // Without the answer to `initialize`, no revision was negotiated.
      if (!isStream || !isWhole || !asks || initializes || lastEventId === undefined) return undefined;
      if (!leftOpen(exchange)) return undefined;
      return hasRetry || 'a stream closed before the response, without retry';
    },
  }),
  onEvent('message', {
    id: 'sse-message-after-response',
    area: 'sse',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '21', '21', '26'], 'basic/transports/streamable-http 18'),
    right: 'The server closes the stream for a request after its response.',
    check: ({ from, exchange, isAfterAnswer, kind, method }) => {
      if (from !== 'server' || !exchange?.isStream || exchange.method !== 'POST' || !exchange.asks) return undefined;
      return !isAfterAnswer || `${method === '' ? `a second ${kind}` : method} after the response`;
    },
  }),
  onEvent('message', {
    id: 'sse-progress-other-request',
    area: 'sse',
    severity: 'error',
    warningIn: WITH_SESSIONS,
    clauses: onPage(
      'basic/transports',
      [undefined, '19', '19', '25'],
      'basic/transports/streamable-http 16; extensions/tasks 42',
    ),
    right: 'Progress on the stream for a request belongs to this request.',
    check: ({ from, method, exchange, about, revisions, params: { progressToken } }) => {
      if (from !== 'server' || method !== NotificationMethod.Progress || !isPostStream(exchange)) return undefined;
      // In a session, a token that no request had is another mistake.
      const isModern = profileOf(revisions[0]!)!.era === 'modern';
      if (about ? mayBeTask(about) : !isModern) return undefined;
      const asked = exchange.messages.filter(({ kind }) => kind === 'request');
      if (asked.length === 0 || exchange.messages.length >= MAX_BATCH) return undefined;
      const isOwn = asked.some((each) => each.params['_meta']?.[Meta.ProgressToken] === progressToken);
      return isOwn || `progress with the token ${shown(progressToken)} on the stream for ${asked[0]!.method}`;
    },
  }),
  onEvent('message', {
    id: 'sse-progress-on-get',
    area: 'sse',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '26', '26', '31']),
    right: 'A stream opened by GET has no progress of requests, unless it resumes the stream of one.',
    check: ({ from, method, exchange, carriage, about, before }) => {
      if (from !== 'server' || method !== NotificationMethod.Progress || carriage !== 'http') return undefined;
      if (exchange?.method !== 'GET' || !exchange.isStream || exchange.resumes) return undefined;
      if (!about || mayBeTask(about) || before!.answered !== undefined) return undefined;
      return `progress of ${about.method}, which is in progress`;
    },
  }),
  onEvent('message', {
    id: 'message-broadcast',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '29', '29', '35']),
    right: 'A message is sent on one stream.',
    check: ({ from, kind, method, exchange, carriage, sameId, message }) => {
      if (from !== 'server' || kind !== 'request' || carriage !== 'http' || !exchange) return undefined;
      return !isBroadcast(sameId, exchange, message) || `${method} of record ${sameId!.n} on another stream`;
    },
  }),
  onEvent('message', {
    id: 'sse-response-on-get',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '27', '27', '32']),
    right: 'A stream opened by GET has no responses, unless it resumes the stream of a request.',
    check: ({ from, kind, exchange, carriage }) => {
      if (from !== 'server' || carriage !== 'http' || exchange?.method !== 'GET') return undefined;
      if (!exchange.isStream || exchange.resumes) return undefined;
      return kind === 'request' || kind === 'notification' || 'a response on a GET stream';
    },
  }),
  onEvent('message', {
    id: 'server-request-without-session',
    area: 'lifecycle',
    severity: 'error',
    clauses: {
      '2026-07-28':
        'basic/patterns/index 1; basic/patterns/mrtr 1; basic/transports/stdio 8; basic/transports/streamable-http 17',
    },
    right: 'A server sends no requests. It asks with a result of type `input_required`.',
    check: ({ from, kind, method }) => (from === 'server' ? kind !== 'request' || `the request ${method}` : undefined),
  }),
  onEvent('message', {
    id: 'client-response-without-session',
    area: 'lifecycle',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/transports/stdio 6; basic/transports/streamable-http 11' },
    right: 'A client sends no responses.',
    check: ({ from, kind }) =>
      from === 'client' ? (kind !== 'result' && kind !== 'error') || 'a response of the client' : undefined,
  }),
  onEvent('response', {
    id: 'sse-accel-buffering',
    area: 'sse',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/transports/streamable-http 19' },
    right: 'An event stream has the header `X-Accel-Buffering: no`, so that proxies do not delay events.',
    check: ({ exchange, conversation }) => {
      if (!exchange.isStream || !conversation.isModernServer) return undefined;
      return exchange.response!.get('x-accel-buffering')?.toLowerCase() === 'no' || 'a stream without it';
    },
  }),
];

/** A request of an exchange that is neither answered nor cancelled. */
function leftOpen({ waiting }: Exchange): SeenRequest | undefined {
  return [...waiting].find(({ cancelled, answered }) => cancelled === undefined && answered === undefined);
}

/** Whether an exchange is the stream for requests of the client. */
function isPostStream(exchange: Exchange | undefined): exchange is Exchange {
  return exchange !== undefined && exchange.isStream && exchange.method === 'POST' && exchange.asks;
}

/** Whether the progress of a request may be that of a task, which may be on any stream (2025-11-25). */
function mayBeTask({ taskId, params }: SeenRequest): boolean {
  return taskId !== undefined || params === undefined || params['task'] !== undefined;
}
