import {
  ask,
  byUrl,
  cached,
  done,
  elicit,
  failure,
  list,
  listen,
  listenEnds,
  marked,
  modern,
  modernCall,
  modernList,
  modernWeb,
  needs,
  notice,
  ofSubscription,
  progress,
  read,
  result,
  sample,
  serverMeta,
  session,
  text,
  tool,
  unauthorized,
  web,
  withToken,
} from './lint-conversations.ts';
import { TASK_SEEDS } from './lint-task-seeds.ts';
import { modernMeta, rpc, type WireScript } from './wire-script.ts';

const adds = tool({ outputSchema: { type: 'object', required: ['sum'] } });
/** A tool that was used, with a result that has no sum. */
const TOOL_USE = [
  { role: 'assistant', content: { type: 'tool_use', id: 'u', name: 'add', input: {} } },
  { role: 'user', content: { type: 'tool_result', toolUseId: 'u', content: [], structuredContent: {} } },
];

/** Seeds of the rules about what servers offer and ask. */
export const FEATURE_SEEDS: Readonly<Record<string, () => WireScript>> = {
  // Notifications
  'notification-capability-missing': () =>
    session('2025-11-25', {}, {}).server(notice('notifications/message', { level: 'info', data: 1 })),
  'list-changed-undeclared': () => session().server(notice('notifications/tools/list_changed')),
  'roots-changed-undeclared': () => session().client(notice('notifications/roots/list_changed')),
  'resource-updated-unsubscribed': () =>
    session('2025-11-25', {}, { resources: {} }).server(notice('notifications/resources/updated', { uri: 'a:b' })),
  'progress-token-type': () => session().client(rpc(1, 'tools/call', withToken(1.5))),
  'progress-token-reused': () =>
    session()
      .client(rpc(1, 'tools/call', withToken('t')))
      .client(rpc(2, 'tools/call', withToken('t'))),
  'progress-increases': () =>
    session()
      .client(rpc(1, 'tools/call', withToken('t')))
      .server(progress('t', 2))
      .server(progress('t', 2)),
  'progress-token-unknown': () => session().server(progress('t', 1)),
  'progress-after-end': () => session().call('tools/call', withToken('t'), text).server(progress('t', 1)),
  'cancelled-unknown': () => session().client(notice('notifications/cancelled', { requestId: 'x' })),
  'cancelled-over-http': () =>
    modernWeb().exchange({ message: notice('notifications/cancelled', { requestId: 1 }) }, { status: 202 }),
  'cancelled-by-server': () =>
    modern()
      .request('tools/call', { name: 'add' }, undefined)
      .server(notice('notifications/cancelled', { requestId: 102 })),
  'log-not-requested': () =>
    modern()
      .request('tools/call', { name: 'add' }, undefined)
      .server(notice('notifications/message', { level: 'info', data: 1 })),
  'subscription-id-missing': () =>
    listen({ toolsListChanged: true }).server(notice('notifications/tools/list_changed')),
  'subscription-acknowledged-first': () =>
    ofSubscription(listen({ toolsListChanged: true }), 'notifications/tools/list_changed'),
  'subscription-filter': () =>
    ofSubscription(
      ofSubscription(listen({ toolsListChanged: true }), 'notifications/subscriptions/acknowledged', {
        notifications: { toolsListChanged: true },
      }),
      'notifications/prompts/list_changed',
    ),
  'subscription-response': () => listenEnds(),

  // Questions
  'question-undeclared': () => ask('roots/list', {}, {}),
  'input-required-method': () =>
    modern().request('tools/list', {}, { ...done({ requestState: 's' }), resultType: 'input_required' }),
  'input-required-empty': () => needs({}),
  'input-request-kind': () => needs({ inputRequests: { a: { method: 'tools/list' } } }),
  'request-state-unknown': () => modern().client(modernCall(1, { requestState: 'mine' })),
  'request-state-other': () => needs({ requestState: 's' }).client(modernCall(1, { name: 'other', requestState: 's' })),
  'retry-id': () => {
    const script = needs({ requestState: 's' });
    return script.client(modernCall(script.last, { requestState: 's' }));
  },
  'elicitation-url': () => byUrl('not a url'),
  'elicitation-url-https': () => byUrl('http://example.com/'),
  'elicitation-url-credentials': () => byUrl('https://user:secret@example.com/'),
  'elicitation-form-secret': () =>
    elicit({ requestedSchema: { type: 'object', properties: { password: { type: 'string' } } } }),
  'elicitation-form-link': () =>
    elicit({ message: 'See https://example.com', requestedSchema: { type: 'object', properties: {} } }),
  'elicitation-answer': () =>
    elicit({ requestedSchema: { type: 'object', properties: { age: { type: 'integer' } } } }).client(
      result('q', { action: 'accept', content: { age: 'old' } }),
    ),
  'elicitation-complete-unknown': () =>
    session().server(notice('notifications/elicitation/complete', { elicitationId: 'x' })),
  'url-required-error': () =>
    session()
      .client(rpc(1, 'tools/call', { name: 'add' }))
      .server(failure(1, -32042, 'no', { elicitations: [] })),
  'sampling-context-undeclared': () => sample({ includeContext: 'allServers' }),
  'sampling-tool-results': () =>
    sample({ messages: [{ role: 'assistant', content: { type: 'tool_use', id: 'u', name: 'add', input: {} } }] }),
  'sampling-structured-content': () =>
    needs(
      {
        inputRequests: {
          a: { method: 'sampling/createMessage', params: { messages: TOOL_USE, maxTokens: 1, tools: [adds] } },
        },
      },
      { sampling: { tools: {} } },
    ),
  'sampling-tool-choice': () =>
    sample({ tools: [tool()], toolChoice: { mode: 'required' } }).client(
      result('q', { role: 'assistant', model: 'm', content: { type: 'text', text: 'no' } }),
    ),
  'roots-file-uri': () => ask('roots/list', {}).client(result('q', { roots: [{ uri: 'https://example.com/' }] })),

  // Tools
  'tool-name-length': () => list(tool({ name: '' })),
  'tool-name-characters': () => modernList({ name: 'a b' }),
  'tool-name-portable': () => list(tool({ name: 'math.add' })),
  'tool-name-duplicate': () => list(tool(), tool()),
  'tool-order-changes': () => {
    const [first, second] = [tool({ name: 'a' }), tool({ name: 'b' })];
    return modern()
      .request('tools/list', {}, cached({ tools: [first, second] }))
      .request('tools/list', {}, cached({ tools: [second, first] }));
  },
  'tool-description-missing': () => list(tool({ description: undefined })),
  'tool-input-schema': () => list(tool({ inputSchema: { type: 'object', minProperties: 'many' } })),
  'tool-output-schema': () => list(tool({ outputSchema: { type: 'object', minProperties: 'many' } })),
  'tool-schema-reference': () =>
    list(tool({ inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } } })),
  'tool-schema-dialect': () =>
    list(tool({ inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' } })),
  'tool-arguments': () =>
    list(tool({ inputSchema: { type: 'object', required: ['a'] } })).client(rpc(1, 'tools/call', { name: 'add' })),
  'structured-content-schema': () =>
    list(tool({ outputSchema: { type: 'object', required: ['sum'] } })).call(
      'tools/call',
      { name: 'add' },
      {
        content: [{ type: 'text', text: '{}' }],
        structuredContent: {},
      },
    ),
  'structured-content-text': () =>
    session().call('tools/call', { name: 'add' }, { ...text, structuredContent: { a: 1 } }),
  'tool-result-resources-undeclared': () =>
    session('2025-11-25', {}, { tools: {} }).call(
      'tools/call',
      { name: 'add' },
      {
        content: [{ type: 'resource', resource: { uri: 'a:b', text: '' } }],
      },
    ),
  'tool-result-task': () =>
    modern().request(
      'tools/call',
      { name: 'add' },
      { _meta: serverMeta, resultType: 'task', taskId: '0123456789abcdef' },
      modernMeta({ extensions: { other: {} } }),
    ),
  'x-mcp-header-token': () => modernList(marked('a b')),
  'x-mcp-header-unique': () =>
    modernList({
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
      },
    }),
  'x-mcp-header-type': () => modernList(marked('A', { type: 'object' })),
  'x-mcp-header-place': () =>
    modernList({
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } },
      },
    }),
  'x-mcp-header-integer': () =>
    modernWeb()
      .post(rpc(2, 'tools/list', { _meta: modernMeta() }), {
        message: result(2, cached({ tools: [tool(marked('A', { type: 'integer' }))] })),
      })
      .exchange(
        {
          message: JSON.stringify(modernCall(3, { arguments: { a: 1 } })).replace('"a":1', '"a":9007199254740994'),
          headers: { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'add', 'Mcp-Param-A': '9007199254740994' },
        },
        { status: 400, message: failure(3, -32602) },
      ),

  // Resources and prompts
  'content-base64': () => read([{ uri: 'a:b', blob: 'not base64!' }]),
  'content-mime-type': () => read([{ uri: 'a:b', text: '', mimeType: 'text' }]),
  'content-mime-kind': () =>
    session().call('tools/call', { name: 'add' }, { content: [{ type: 'image', data: '', mimeType: 'text/plain' }] }),
  'resource-uri': () => read([{ uri: 'notes/today', text: '' }]),
  'resource-uri-duplicate': () =>
    session().call(
      'resources/list',
      {},
      {
        resources: [
          { uri: 'a:b', name: 'a' },
          { uri: 'a:b', name: 'b' },
        ],
      },
    ),
  'prompt-name-duplicate': () => session().call('prompts/list', {}, { prompts: [{ name: 'a' }, { name: 'a' }] }),
  'prompt-argument-duplicate': () =>
    session().call('prompts/list', {}, { prompts: [{ name: 'a', arguments: [{ name: 'x' }, { name: 'x' }] }] }),
  'resource-contents-empty': () => modern().request('resources/read', { uri: 'a:b' }, cached({ contents: [] })),
  'resource-not-found-code': () =>
    session()
      .client(rpc(1, 'resources/read', { uri: 'a:b' }))
      .server(failure(1, -32603, 'Resource not found')),
  'completion-values': () =>
    session().call(
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'b', value: '' } },
      { completion: { values: Array.from({ length: 101 }, (_, at) => `${at}`) } },
    ),

  // Caching
  'cache-hints-missing': () => modern().request('tools/list', {}, done({ tools: [] })),
  'cache-scope-pages': () =>
    modern()
      .request('tools/list', {}, cached({ tools: [], nextCursor: 'a' }))
      .request('tools/list', { cursor: 'a' }, cached({ tools: [], cacheScope: 'public' })),
  'cache-ttl-negative': () => modern().request('tools/list', {}, cached({ tools: [], ttlMs: -1 })),

  ...TASK_SEEDS,

  // Authorization
  'http-token-in-query': () =>
    web().exchange({ message: rpc(1, 'ping'), path: '/mcp?access_token=x' }, { message: result(1, {}) }),
  'http-authorization-scheme': () =>
    web().exchange({ message: rpc(1, 'ping'), headers: { Authorization: 'Token x' } }, { message: result(1, {}) }),
  'http-challenge-missing': () => unauthorized(undefined),
  'http-challenge-metadata': () => unauthorized('Bearer realm="x"', '2025-06-18'),
  'http-challenge-scope': () => unauthorized('Bearer resource_metadata="https://example.com"'),
  'http-insufficient-scope': () => unauthorized('Bearer error="insufficient_scope"', '2025-11-25', 403),
};
