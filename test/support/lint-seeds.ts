import { FEATURE_SEEDS } from './lint-feature-seeds.ts';
import {
  ALL,
  ASKABLE,
  META,
  cached,
  discovered,
  done,
  failure,
  frame,
  marked,
  modern,
  modernCall,
  modernWeb,
  notice,
  opened,
  opening,
  prime,
  primed,
  progress,
  result,
  serverMeta,
  session,
  text,
  tool,
  web,
  withToken,
} from './lint-conversations.ts';
import { HttpScript, StdioScript, initialize, modernMeta, rpc, type WireScript } from './wire-script.ts';

/** For each rule, a conversation in which only this rule is broken, once. */
export const SEEDS: Readonly<Record<string, () => WireScript>> = {
  ...FEATURE_SEEDS,
  // JSON-RPC
  'message-utf8': () =>
    session().raw('s>c', Buffer.from('{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\xff"}}\n', 'latin1')),
  'message-json': () => session().raw('s>c', '{"jsonrpc":"2.0","method":"notifications/x",}\n'),
  'json-rpc-version': () => session().client({ id: 1, method: 'ping' }),
  'request-id-null': () => session().client(rpc(null, 'ping')),
  'request-id-type': () => session().client(rpc(1.5, 'ping')),
  'request-id-precise': () => session().raw('c>s', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n'),
  'request-id-reused': () => session().call('ping', undefined, {}).client(rpc('call-1', 'ping')),
  'request-id-in-use': () => modern().client(modernCall(7)).client(modernCall(7)),
  'response-id-unknown': () => session().server(result(7, {})),
  'response-twice': () => session().call('ping', undefined, {}).server(result('call-1', {})),
  'response-result-and-error': () =>
    session()
      .client(rpc(1, 'ping'))
      .server({ ...result(1, {}), ...failure(1, -1) }),
  'result-object': () => session().client(rpc(1, 'ping')).server(result(1, [])),
  'error-shape': () =>
    session()
      .client(rpc(1, 'ping'))
      .server({ jsonrpc: '2.0', id: 1, error: { code: 1 } }),
  'error-code-integer': () => session().client(rpc(1, 'ping')).server(failure(1, 'E1')),
  'error-id-null': () => session().server(failure(null, -32700)),
  'notification-id': () => session().client(rpc(1, 'notifications/x')),
  'batch-forbidden': () => session().client([rpc(1, 'ping')]),
  'batch-empty': () => session('2025-03-26').client([]),
  'batch-mixed': () =>
    web('2025-03-26').exchange({ message: [notice('notifications/x'), failure(undefined, -1)] }, { status: 202 }),
  'meta-key': () => session().client(rpc(1, 'ping', { _meta: { '-x': 1 } })),
  'meta-key-reserved': () => session().client(rpc(1, 'ping', { _meta: { 'com.mcp/x': 1 } })),
  'meta-trace-context': () => modern().client(modernCall(1, { _meta: { ...modernMeta(), traceparent: 'x' } })),
  'error-code-undefined': () => modern().client(modernCall(1)).server(failure(1, -32002)),
  'error-code-meaning': () => modern().client(modernCall(1)).server(failure(1, -32020)),
  'error-code-own': () => modern().client(modernCall(1)).server(failure(1, -32010)),
  'result-type-missing': () => modern().request('tools/call', { name: 'add' }, { ...text, _meta: serverMeta }),
  'result-type-unknown': () =>
    modern().request('tools/call', { name: 'add' }, { ...text, _meta: serverMeta, resultType: 'later' }),
  'cursor-unknown': () => session().client(rpc(1, 'tools/list', { cursor: 'mine' })),
  'cursor-repeated': () =>
    session()
      .call('tools/list', {}, { tools: [], nextCursor: 'a' })
      .call('tools/list', { cursor: 'a' }, { tools: [], nextCursor: 'a' }),
  'cursor-null': () => session().call('tools/list', {}, { tools: [], nextCursor: null }),

  // Lifecycle
  'initialize-first': () => new StdioScript().client(rpc(1, 'tools/list')),
  'initialize-pending': () => opening().client(rpc(1, 'tools/list')),
  'initialized-missing': () => opening().server(opened).client(rpc(1, 'tools/list')),
  'server-request-early': () => opening(ASKABLE).server(opened).server(rpc(1, 'roots/list')),
  'initialize-in-batch': () => new StdioScript().client([initialize('2025-03-26')]),
  'initialize-cancelled': () =>
    opening()
      .server(opened)
      .client(notice('notifications/initialized'))
      .client(notice('notifications/cancelled', { requestId: 0 })),
  'ping-result': () => session().call('ping', undefined, { pong: true }),
  'server-capability-used': () => session('2025-11-25', {}, {}).client(rpc(1, 'tools/list')).server(failure(1, -32601)),
  'server-capability-missing': () => modern({}).request('tools/call', { name: 'add' }, done(text)),
  'method-of-other-revision': () => session('2025-03-26').client(rpc(1, 'tasks/list')),
  'request-meta-missing': () =>
    modern().client(
      rpc(1, 'tools/list', {
        _meta: { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientInfo`]: { name: 'a', version: '1' } },
      }),
    ),
  'request-client-info': () =>
    modern().client(rpc(1, 'tools/list', { _meta: { ...modernMeta(), [`${META}/clientInfo`]: undefined } })),
  'result-server-info': () => modern().request('tools/call', { name: 'add' }, { ...text, resultType: 'complete' }),
  'discover-revision': () =>
    new StdioScript().call(
      'server/discover',
      { _meta: modernMeta() },
      { ...discovered(), supportedVersions: ['2027-01-01'] },
    ),
  'server-request-without-session': () => modern().server(rpc(1, 'x/ask')),
  'client-response-without-session': () =>
    modernWeb().exchange({ message: failure(undefined, -1), headers: {} }, { status: 400 }),

  // HTTP
  'http-accept-post': () =>
    web().exchange({ message: rpc(1, 'ping'), headers: { Accept: 'application/json' } }, { message: result(1, {}) }),
  'http-accept-get': () => web().exchange({ method: 'GET', headers: { Accept: '*/*' } }, { status: 405 }),
  'http-content-type-post': () =>
    web().exchange({ message: rpc(1, 'ping'), headers: { 'Content-Type': 'text/plain' } }, { message: result(1, {}) }),
  'http-method': () => web().exchange({ method: 'PUT', message: rpc(1, 'ping') }, { status: 405 }),
  'http-version-header-missing': () =>
    web().exchange(
      { message: rpc(1, 'ping'), headers: { 'MCP-Protocol-Version': undefined } },
      { message: result(1, {}) },
    ),
  'http-version-header-negotiated': () =>
    web().exchange(
      { message: rpc(1, 'ping'), headers: { 'MCP-Protocol-Version': '2025-06-18' } },
      { message: result(1, {}) },
    ),
  'http-version-header-nonsense': () =>
    web().exchange(
      { message: rpc(1, 'ping'), headers: { 'MCP-Protocol-Version': 'newest' } },
      { message: result(1, {}) },
    ),
  'http-notification-status': () => web().exchange({ message: notice('notifications/x') }, { status: 200 }),
  'http-202-body': () => web().exchange({ message: notice('notifications/x') }, { status: 202, body: 'Accepted' }),
  'http-request-response-type': () => web().exchange({ message: rpc(1, 'ping') }, { status: 202 }),
  'http-get-response': () =>
    web().exchange({ method: 'GET' }, { body: 'hello', headers: { 'Content-Type': 'text/html' } }),
  'http-error-status': () => modernWeb().post(rpc(2, 'x/y', { _meta: modernMeta() }), { message: failure(2, -32601) }),
  'http-version-header-body': () =>
    modernWeb().post(modernCall(2, { _meta: { ...modernMeta(), [`${META}/protocolVersion`]: '2025-11-25' } }), {
      status: 400,
      message: failure(2, -32020),
    }),
  'mcp-method-header': () =>
    modernWeb().post(modernCall(2), { status: 400, message: failure(2, -32020) }, { 'Mcp-Method': undefined }),
  'mcp-name-header': () =>
    modernWeb().post(modernCall(2), { status: 400, message: failure(2, -32020) }, { 'Mcp-Name': 'other' }),
  'mcp-param-header': () =>
    modernWeb()
      .post(rpc(2, 'tools/list', { _meta: modernMeta() }), {
        message: result(2, cached({ tools: [tool(marked('A'))] })),
      })
      .post(modernCall(3, { arguments: { a: 'x' } }), { status: 400, message: failure(3, -32020) }),
  'http-header-mismatch-accepted': () =>
    modernWeb().post(modernCall(2), { message: result(2, done(text)) }, { 'Mcp-Name': 'other' }),

  // Sessions
  'session-id-characters': () => new HttpScript().handshake('2025-11-25', {}, ALL, 'session of a test'),
  'session-id-length': () => new HttpScript().handshake('2025-11-25', {}, ALL, 'short'),
  'session-ended-404': () =>
    web()
      .exchange({ method: 'DELETE' }, { status: 204 })
      .exchange({ message: rpc(1, 'ping') }, { message: result(1, {}) }),
  'session-used-after-404': () =>
    web()
      .exchange({ message: rpc(1, 'ping') }, { status: 404 })
      .exchange({ message: rpc(2, 'ping') }, { status: 404 }),

  // Event streams
  'sse-event-id-unique': () =>
    web().exchange({ message: rpc(1, 'ping') }, { frames: [primed, `id: 0\n${frame(result(1, {}))}`] }),
  'sse-replay-other-stream': () =>
    web('2025-06-18')
      .exchange({ message: rpc(1, 'ping') }, { frames: [`id: a\n${frame(result(1, {}))}`] })
      .exchange({ method: 'GET' }, { frames: ['id: b\ndata:\n\n'] })
      .exchange({ method: 'GET', headers: { 'Last-Event-ID': 'b' } }, { frames: [`id: a\n${frame(result(1, {}))}`] }),
  'sse-priming-event': () => web().exchange({ message: rpc(1, 'ping') }, { frames: [result(1, {})] }),
  'sse-endpoint-first': () =>
    new HttpScript().exchange(
      { method: 'GET', path: '/sse' },
      { frames: [frame(notice('notifications/x')), 'event: endpoint\ndata: /messages?id=1\n\n'] },
    ),
  'sse-data-message': () =>
    web().exchange({ message: rpc(1, 'ping') }, { frames: [prime(), 'data: hello\n\n', result(1, {})] }),
  'sse-event-name': () =>
    web().exchange({ message: rpc(1, 'ping') }, { frames: [prime(), `event: mcp\n${frame(result(1, {}))}`] }),
  'sse-field': () =>
    web().exchange({ message: rpc(1, 'ping') }, { frames: [prime(), `events: message\n${frame(result(1, {}))}`] }),
  'sse-ends-unanswered': () =>
    web('2025-06-18').exchange({ message: rpc(1, 'ping') }, { frames: [notice('notifications/x')] }),
  'sse-retry-missing': () => web().exchange({ message: rpc(1, 'ping') }, { frames: [prime()] }),
  'sse-message-after-response': () =>
    web().exchange({ message: rpc(1, 'ping') }, { frames: [prime(), result(1, {}), notice('notifications/x')] }),
  'sse-response-on-get': () =>
    web()
      .exchange({ message: rpc(1, 'ping') }, { frames: [prime(), 'retry: 1\n\n'] })
      .exchange({ method: 'GET' }, { frames: [result(1, {})] }),
  'sse-progress-other-request': () =>
    modernWeb().post(modernCall(2), {
      frames: [progress('t', 1), result(2, done(text))],
      headers: { 'X-Accel-Buffering': 'no' },
    }),
  'sse-progress-on-get': () =>
    web()
      .exchange({ message: rpc(1, 'tools/call', withToken('t')) }, { frames: [`retry: 1\n${prime()}`] })
      .exchange({ method: 'GET' }, { frames: [progress('t', 1)] }),
  'message-broadcast': () =>
    web('2025-11-25', ASKABLE)
      .exchange(
        { message: rpc(1, 'tools/call', { name: 'add' }) },
        { frames: [prime(), rpc('q', 'roots/list'), result(1, text)] },
      )
      .exchange({ method: 'GET' }, { frames: [rpc('q', 'roots/list')] }),
  'sse-accel-buffering': () => modernWeb().post(modernCall(2), { frames: [result(2, done(text))] }),

  // stdio
  'stdio-stdout-only-messages': () => session().raw('s>c', 'Server started\n'),
  'stdio-stdin-only-messages': () => session().raw('c>s', 'hello\n'),
  'stdio-line-end': () =>
    session()
      .raw('s>c', JSON.stringify(notice('notifications/x')))
      .end(),

  // The schema
  'schema-request': () => session().client(rpc(1, 'tools/call', { name: 7 })),
  'schema-notification': () => session().server(notice('notifications/message', { level: 'loud', data: 1 })),
  'schema-result': () => session().call('tools/list', {}, { tools: 'none' }),
  'schema-error': () =>
    modern()
      .client(modernCall(1))
      .server(failure(1, -32022, 'no', {})),
};
