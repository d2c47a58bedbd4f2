import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { Meta } from '../../src/protocol/methods.ts';
import { connectUpstream } from '../../src/wire/negotiate.ts';
import { memoryEraCache } from '../../src/wire/era-cache.ts';
import { deferred, settled } from '../support/service.ts';
import { clientOf, DESCRIBED, PlayedServer } from './played-server.ts';
import { MODERN } from '../support/modern.ts';

const ABLE: ClientOptions = {
  clientInfo: { name: 'us', version: '1' },
  onelicit: { form: () => ({ action: 'decline' }), url: () => ({ action: 'decline' }) },
  onsample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '' } }),
  sampling: { tools: true },
  onroots: () => [],
};
const ABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};
const asks = (key = 'k') => ({
  resultType: 'input_required',
  requestState: 'state',
  inputRequests: { [key]: { method: 'roots/list' } },
});

describe('a request', () => {
  test.each<[string, (client: Client) => Promise<unknown>]>([
    ['server/discover', (client) => client.discover({ fresh: true })],
    ['tools/list', (client) => client.listTools()],
    ['tools/call', (client) => client.callTool('a')],
    ['prompts/list', (client) => client.listPrompts()],
    ['prompts/get', (client) => client.getPrompt('p')],
    ['resources/list', (client) => client.listResources()],
    ['resources/templates/list', (client) => client.listResourceTemplates()],
    ['resources/read', (client) => client.readResource('a:b')],
    ['completion/complete', (client) => client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' })],
    ['subscriptions/listen', (client) => client.subscribe('a:b', () => {})],
    ['tasks/get', (client) => client.task('t').get()],
    ['tasks/update', (client) => client.task('t').update({})],
    ['tasks/cancel', (client) => client.task('t').cancel()],
    ['x/own', (client) => client.request('x/own', { _meta: { [Meta.ClientCapabilities]: {} } })],
  ])('names its revision, its client and the supported questions: %s', async (method, call) => {
    const server = new PlayedServer();
    const { client } = await clientOf(server, ABLE);
    await call(client);
    const request = server.of(method).at(-1);
    expect(request.params[Meta.ProtocolVersion]).toBeUndefined();
    expect(request.params['_meta']).toMatchObject({
      [Meta.ProtocolVersion]: MODERN,
      [Meta.ClientInfo]: { name: 'us', version: '1' },
      [Meta.ClientCapabilities]: ABILITIES,
    });
  });

  test('names them again in a retry with answers', async () => {
    const server = new PlayedServer({
      'tools/call': ({ params }) => (params.inputResponses ? { content: [] } : asks()),
    });
    const { client } = await clientOf(server, ABLE);
    await client.callTool('a');
    const [first, second] = server.of('tools/call');
    expect(second.params['_meta']).toEqual(first.params['_meta']);
    expect(second.params['_meta']).toMatchObject({ [Meta.ClientCapabilities]: ABILITIES });
  });

  test('has its own integer id, whatever else is in flight', async () => {
    const waiting: any[] = [];
    const server = new PlayedServer({
      'tools/call': ({ id, params }) => {
        if (params.inputResponses || waiting.length >= 200) return { content: [] };
        waiting.push(id);
        return undefined;
      },
    });
    const { client } = await clientOf(server, ABLE);
    const calls = Array.from({ length: 200 }, () => client.callTool('a'));
    await vi.waitFor(() => expect(waiting).toHaveLength(200));
    for (const id of waiting) await server.send({ id, result: asks() });
    await Promise.all(calls);
    const ids = server.came.map(({ id }) => id);
    expect(ids).toHaveLength(401);
    expect(ids.every(Number.isInteger)).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is repeated when all answers are there, and no other request gets its answers or state', async () => {
    const answer = deferred<[]>();
    const server = new PlayedServer({
      'tools/call': ({ params }) => (params.name === 'ask' && !params.inputResponses ? asks() : { content: [] }),
    });
    const { client } = await clientOf(server, { ...ABLE, onroots: () => answer.promise });
    const asking = client.callTool('ask');
    await vi.waitFor(() => expect(server.of('tools/call')).toHaveLength(1));
    await client.callTool('other');
    await client.readResource('a:b');
    expect(server.of('tools/call').map(({ params }) => params.name)).toEqual(['ask', 'other']);
    answer.resolve([]);
    await asking;
    await client.callTool('ask-not');
    const carried = server.came.filter(({ params }) => 'requestState' in params || 'inputResponses' in params);
    expect(carried).toMatchObject([
      { method: 'tools/call', params: { name: 'ask', requestState: 'state', inputResponses: { k: { roots: [] } } } },
    ]);
  });

  test('is not cancelled after it has ended, and is cancelled by its id while it is in flight', async () => {
    const server = new PlayedServer({ 'resources/read': () => undefined });
    const { client } = await clientOf(server);
    const over = new AbortController();
    await client.callTool('a', {}, { signal: over.signal });
    over.abort();
    await settled();
    expect(server.of('notifications/cancelled')).toEqual([]);
    const wanted = new AbortController();
    const reading = client.readResource('a:b', { signal: wanted.signal });
    await vi.waitFor(() => expect(server.of('resources/read')).toHaveLength(1));
    wanted.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    const [{ id: requestId }] = server.of('resources/read');
    await vi.waitFor(() =>
      expect(server.of('notifications/cancelled')).toEqual([
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'enough' } },
      ]),
    );
  });
});

test('cancellations of the server that are malformed, unknown or late change nothing', async () => {
  const server = new PlayedServer({ 'tools/call': () => undefined });
  const { client } = await clientOf(server);
  const changes: unknown[] = [];
  const subscription = await client.subscribe('a:b', (change) => changes.push(change));
  await client.readResource('a:b');
  const calling = client.callTool('a');
  await vi.waitFor(() => expect(server.of('tools/call')).toHaveLength(1));
  const [{ id: listen }] = server.of('subscriptions/listen');
  const [{ id: read }] = server.of('resources/read');
  const [{ id: call }] = server.of('tools/call');
  for (const params of [
    undefined,
    {},
    { requestId: null },
    { requestId: {} },
    { requestId: 77 },
    { requestId: read },
  ]) {
    await server.send({ method: 'notifications/cancelled', ...(params && { params }) });
  }
  const own = { _meta: { 'io.modelcontextprotocol/subscriptionId': listen } };
  await server.send({ method: 'notifications/resources/updated', params: { ...own, uri: 'a:b' } });
  await server.send({ id: call, result: { content: [] } });
  expect(await calling).toEqual({ content: [] });
  expect(changes).toEqual([{ type: 'resource', uri: 'a:b' }]);
  await subscription.close();
});

test('notifications and requests of the server are not answered', async () => {
  const server = new PlayedServer();
  const { client, errors } = await clientOf(server, ABLE);
  await server.send(
    { method: 'notifications/message', params: { level: 'info', data: 1 } },
    { method: 'notifications/own' },
    { id: 1, method: 'roots/list' },
    { id: 'x', method: 'ping' },
    { id: 2, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
  );
  await client.ping();
  expect(server.came.map(({ method }) => method)).toEqual(['server/discover', 'server/discover']);
  expect(errors.join('\n')).toMatch(/roots\/list.*\n.*ping.*\n.*sampling\/createMessage/);
});

test('a list that the server neither declares nor knows is empty, and one that it declares but does not know is an error', async () => {
  const error = { code: -32601, message: 'Method not found' };
  const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
  const server = new PlayedServer({
    'server/discover': () => ({ ...DESCRIBED, capabilities: { prompts: {} } }),
    ...Object.fromEntries(lists.map((method) => [method, () => ({ error })])),
  });
  const { client } = await clientOf(server);
  expect(await client.listTools()).toEqual([]);
  expect(await client.listResources()).toEqual([]);
  expect(await client.listResourceTemplates()).toEqual([]);
  await expect(client.listPrompts()).rejects.toMatchObject({ name: 'RpcError', ...error });
  const grown = new PlayedServer({
    'server/discover': () => ({ ...DESCRIBED, capabilities: {} }),
    'tools/list': () => ({ tools: [{ name: 'new', inputSchema: { type: 'object' } }] }),
  });
  expect(await (await clientOf(grown)).client.listTools()).toHaveLength(1);
});

test('a missing resource is recognised by either error code', async () => {
  for (const code of [-32602, -32002]) {
    const error = { code, message: 'Resource not found', data: { uri: 'a:b' } };
    const { client } = await clientOf(new PlayedServer({ 'resources/read': () => ({ error }) }));
    await expect(client.readResource('a:b')).rejects.toMatchObject({ name: 'RpcError', ...error });
  }
});

describe.each([-32000, -32001, -32003, -32019])('the unknown error code %i of a server', (code) => {
  const error = { code, message: 'Not now', data: { why: 'noon' } };

  test('fails a call, and the client continues', async () => {
    const server = new PlayedServer({ 'tools/call': () => ({ error }), 'resources/read': () => ({ error }) });
    const { client } = await clientOf(server);
    await expect(client.callTool('a')).rejects.toMatchObject({ name: 'RpcError', ...error });
    await expect(client.readResource('a:b')).rejects.toMatchObject({ name: 'RpcError', ...error });
    await client.ping();
    expect(server.of('server/discover')).toHaveLength(2);
    expect([server.of('tools/call').length, server.of('resources/read').length]).toEqual([1, 1]);
  });

  test('fails connecting as the server’s error, not as a timeout', async () => {
    const server = new PlayedServer({ 'server/discover': () => ({ error }) });
    await expect(clientOf(server, { eras: 'modern' })).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringContaining('Not now'),
    });
  });

  test('leads to a handshake like any other error', async () => {
    const server = new PlayedServer({
      'server/discover': () => ({ error }),
      initialize: () => ({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }),
    });
    const { client } = await clientOf(server);
    expect(client.revision).toBe('2025-11-25');
  });

  test('in response to initialize makes the client try server/discover', async () => {
    const server = new PlayedServer({ initialize: () => ({ error }) });
    const eraCache = memoryEraCache();
    await eraCache.set('it', { era: 'legacy', route: 'connection' });
    const upstream = await connectUpstream(server.open(), {
      clientInfo: { name: 'us', version: '1' },
      eraCache,
      key: 'it',
    });
    onTestFinished(() => upstream.close());
    expect(upstream.era).toBe('modern');
  });
});

test('results and notifications with any values of the reserved keys in _meta are accepted', async () => {
  const reserved = [...Object.values(Meta), 'io.modelcontextprotocol/odd', 'dev.mcp/odd', 'traceparent'];
  for (const value of [null, 0, 'x', [], {}, { name: 5 }]) {
    const meta = Object.fromEntries(reserved.map((key) => [key, value]));
    const server = new PlayedServer({
      'server/discover': () => ({ ...DESCRIBED, _meta: meta }),
      'tools/call': ({ id, params }, hand) => {
        const { progressToken } = params['_meta'];
        void hand.send({
          method: 'notifications/progress',
          params: { progressToken, progress: 1, _meta: { ...meta, [Meta.SubscriptionId]: id } },
        });
        return { content: [], _meta: meta };
      },
    });
    const { client } = await clientOf(server);
    const onprogress = vi.fn<(progress: { progress: number }) => void>();
    expect(await client.callTool('a', {}, { onprogress })).toEqual({ content: [], _meta: meta });
    expect(onprogress.mock.calls.map(([{ progress }]) => progress)).toEqual([1]);
  }
});

test('a server’s identity does not change how the client treats it', async () => {
  const transcripts: string[] = [];
  for (const info of [
    { name: 'everwire', version: '1' },
    { name: 'other', version: '0.0.1' },
    undefined,
    null,
    7,
    {},
  ]) {
    const server = new PlayedServer({
      'server/discover': () => ({ ...DESCRIBED, ...(info !== undefined && { _meta: { [Meta.ServerInfo]: info } }) }),
      'tools/call': ({ params }) => (params.inputResponses ? { content: [] } : asks()),
    });
    const { client } = await clientOf(server, { ...ABLE, onchange: () => {} });
    await client.listTools();
    await client.callTool('a', { b: 1 });
    await client.readResource('a:b');
    transcripts.push(JSON.stringify(server.came));
  }
  expect(new Set(transcripts).size).toBe(1);
});

test('tool annotations are not trusted: a call that may have run is not repeated because of them', async () => {
  const annotations = { readOnlyHint: true, idempotentHint: true, destructiveHint: false };
  const server = new PlayedServer({
    'tools/list': () => ({ tools: [{ name: 'a', inputSchema: { type: 'object' }, annotations }] }),
    'tools/call': () => void server.lose(),
  });
  const { client } = await clientOf(server);
  await client.listTools();
  await expect(client.callTool('a')).rejects.toMatchObject({ name: 'ConnectionError' });
  expect(server.of('tools/call')).toHaveLength(1);
});

describe('a subscription', () => {
  test('uses the filter that the server accepted, even if it is narrower', async () => {
    const server = new PlayedServer({
      'subscriptions/listen': ({ id }) => void server.acknowledge(id, { toolsListChanged: true }),
    });
    const { client } = await clientOf(server);
    const changes: unknown[] = [];
    const filter = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:b'] };
    const subscription = await client.subscribe(filter, (change) => changes.push(change));
    expect(subscription.filter).toEqual({ toolsListChanged: true });
    const [{ id }] = server.of('subscriptions/listen');
    const own = { _meta: { 'io.modelcontextprotocol/subscriptionId': id } };
    await server.send({ method: 'notifications/tools/list_changed', params: own });
    await vi.waitFor(() => expect(changes).toEqual([{ type: 'tools' }]));
    await subscription.close();
  });

  test('of a client covers the capabilities of its server, and does not exist if there are none', async () => {
    const told: JsonObject[] = [];
    for (const capabilities of [
      { tools: { listChanged: true }, prompts: { listChanged: false }, resources: {} },
      { tools: {}, resources: { subscribe: true } },
    ]) {
      const server = new PlayedServer({ 'server/discover': () => ({ ...DESCRIBED, capabilities }) });
      const { client } = await clientOf(server, { onchange: () => {} });
      await client.ping();
      told.push(server.of('subscriptions/listen').map(({ params }) => params.notifications));
    }
    expect(told).toEqual([[{ toolsListChanged: true }], []]);
  });

  test('is opened again on the next connection', async () => {
    const server = new PlayedServer();
    const { client } = await clientOf(server);
    const changes: unknown[] = [];
    const subscription = await client.subscribe('a:b', (change) => changes.push(change));
    await server.lose();
    await client.callTool('a');
    await vi.waitFor(() => expect(server.of('subscriptions/listen')).toHaveLength(2));
    const [before, after] = server.of('subscriptions/listen').map(({ params }): JsonObject => params);
    expect(after).toEqual(before);
    // No notification came for changes in the meantime.
    const changed = { type: 'resource', uri: 'a:b' };
    await vi.waitFor(() => expect(changes).toEqual([changed]));
    const { id } = server.of('subscriptions/listen').at(-1);
    const own = { _meta: { 'io.modelcontextprotocol/subscriptionId': id } };
    await server.send({ method: 'notifications/resources/updated', params: { ...own, uri: 'a:b' } });
    await vi.waitFor(() => expect(changes).toEqual([changed, changed]));
    await subscription.close();
  });
});
