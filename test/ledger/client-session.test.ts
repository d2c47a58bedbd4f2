import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { deferred } from '../support/service.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { calling, everything, place, welcome } from '../support/legacy-server.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const ref = { type: 'ref/prompt', name: 'p' } as const;
const argument = { name: 'a', value: '' };

test('a client sends only initialize until it is answered, then notifications/initialized', async () => {
  const { open, servers } = place();
  const handlers = { onlog: () => {}, onchange: () => {}, onroots: () => [] };
  const clientInfo = { name: 'us', version: '1' };
  const connecting = connect(open(), { eras: 'legacy', clientInfo, ...handlers });
  const server = servers[0]!;
  const initialize = await server.heard();
  expect(initialize).toEqual({
    jsonrpc: '2.0',
    id: expect.anything(),
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: expect.objectContaining({ roots: { listChanged: true } }),
      clientInfo,
    },
  });
  expect(await server.pinged()).toEqual([]);
  await server.send({ id: initialize.id, result: welcome() });
  const client = await connecting;
  onTestFinished(() => client.close());
  expect(await server.heard()).toEqual({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const ping = client.ping();
  expect(await server.answer()).toMatchObject({ method: 'ping' });
  await ping;
});

test('the ids of a client’s requests are strings or integers, and never reused in a session', async () => {
  const { open, servers } = place();
  const connecting = connect(open(), { eras: 'legacy', onlog: () => {} });
  const server = servers[0]!;
  const ids: unknown[] = [(await server.answer(welcome(everything))).id];
  const rest = connecting.then(async (client) => {
    onTestFinished(() => client.close());
    const given = new AbortController();
    const lost = client.callTool('a', {}, { signal: given.signal }).catch(() => {});
    const late = client.callTool('b', {}, { timeout: 1 }).catch(() => {});
    await vi.waitUntil(() => server.inbox.filter((message) => 'id' in message).length >= 2);
    given.abort();
    await Promise.all([lost, late]);
    await Promise.allSettled([
      client.ping({ timeout: 50 }),
      client.listTools({ timeout: 50 }),
      client.ping({ timeout: 50 }),
    ]);
  });
  // The log level is set first, and must be answered.
  const seen: any[] = [];
  await vi.waitUntil(
    () => seen.push(...server.take()) > 0 && seen.some(({ method }) => method === 'logging/setLevel'),
    {
      timeout: 5000,
    },
  );
  for (const { id, method } of seen) if (method === 'logging/setLevel') await server.send({ id, result: {} });
  await rest;
  ids.push(...[...seen, ...server.take()].filter((message) => 'id' in message).map(({ id }) => id));
  expect(ids.length).toBeGreaterThanOrEqual(7);
  for (const id of ids) expect(typeof id === 'string' || Number.isInteger(id)).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
});

describe('a notification of the server', () => {
  test.each<[string, JsonObject | undefined]>([
    ['notifications/unheard-of', { a: 1 }],
    ['tools/call', { name: 'a' }],
    ['notifications/message', undefined],
    ['notifications/progress', { progressToken: 'nobody’s', progress: 1 }],
    ['notifications/progress', { progressToken: null, progress: 'x' }],
    ['notifications/resources/updated', {}],
    ['notifications/tools/list_changed', undefined],
  ])('gets no response: %s %j', async (method, params) => {
    const { client, server } = await calling();
    await server.send({ method, params });
    expect(await server.pinged()).toEqual([]);
    expect(client.closed).toBe(false);
  });

  test.each<[string, JsonObject | undefined]>([
    ['notifications/cancelled', { requestId: 99, reason: 'late' }],
    ['notifications/cancelled', { requestId: null }],
    ['notifications/cancelled', undefined],
    ['notifications/elicitation/complete', { elicitationId: 'nobody’s' }],
    ['notifications/elicitation/complete', undefined],
  ])('is ignored if it refers to something unknown: %s %j', async (method, params) => {
    const onelicit = vi.fn<() => { action: 'cancel' }>(() => ({ action: 'cancel' }));
    const { client, server, errors } = await calling({ onelicit: { url: onelicit } });
    const call = client.callTool('a');
    const { id } = await server.heard();
    await server.send({ method, params });
    expect(await server.pinged()).toEqual([]);
    await server.send({ id, result: { content: [] } });
    expect(await call).toEqual({ content: [] });
    expect(errors).toEqual([]);
    expect(onelicit).not.toHaveBeenCalled();
  });
});

describe('a feature that the server', () => {
  test('did not declare is not requested', async () => {
    const { client, server } = await calling({ onlog: () => {}, onchange: () => {} }, {});
    expect(await client.listTools()).toEqual([]);
    expect(await client.listPrompts()).toEqual([]);
    expect(await client.listResources()).toEqual([]);
    expect(await client.listResourceTemplates()).toEqual([]);
    for await (const tool of client.tools()) expect.unreachable(tool.name);
    const calls = {
      tools: client.callTool('a'),
      prompts: client.getPrompt('a'),
      resources: client.readResource('a://b'),
      completions: client.complete(ref, argument),
    };
    for (const [capability, call] of Object.entries(calls)) {
      await expect(call).rejects.toMatchObject({
        code: -32601,
        message: expect.stringContaining(`the ${capability} cap`),
      });
    }
    await client.setLogLevel('debug');
    const { filter } = await client.subscribe('a://b', () => {});
    expect(filter).toEqual({});
    expect(await server.pinged()).toEqual([]);
  });

  test('declares later is requested', async () => {
    const { client, server } = await calling();
    const asked: [Promise<unknown>, JsonObject, string][] = [
      [client.listTools(), { tools: [] }, 'tools/list'],
      [client.callTool('a'), { content: [] }, 'tools/call'],
      [client.getPrompt('a'), { messages: [] }, 'prompts/get'],
      [client.readResource('a://b'), { contents: [] }, 'resources/read'],
      [client.complete(ref, argument), { completion: { values: [] } }, 'completion/complete'],
      [client.setLogLevel('debug'), {}, 'logging/setLevel'],
      [client.subscribe('a://b', () => {}), {}, 'resources/subscribe'],
    ];
    for (const [answer, result, method] of asked) {
      expect(await server.answer(result)).toMatchObject({ method });
      await answer;
    }
  });

  test('cannot declare in its revision, or that the application insists on, is requested', async () => {
    const { client, server } = await calling({}, {}, '2024-11-05');
    const completion = client.complete(ref, argument);
    expect(await server.answer({ completion: { values: ['x'] } })).toMatchObject({ method: 'completion/complete' });
    expect(await completion).toEqual({ values: ['x'] });
    const list = client.request('tools/list');
    expect(await server.answer({ tools: [] })).toMatchObject({ method: 'tools/list' });
    await list;
  });
});

test.each<[string, JsonObject]>([
  ['no values', { values: [] }],
  ['some of the values, without their number', { values: ['a'], hasMore: true }],
  ['fewer values than there are', { values: ['a'], total: 12 }],
])('a completion may have %s', async (_, completion) => {
  const { client, server } = await calling();
  const answer = client.complete(ref, argument);
  await server.answer({ completion });
  expect(await answer).toEqual(completion);
});

test('a client never requests a task of 2025-11-25, whatever the server supports or requires', async () => {
  const { client, server } = await calling(
    {},
    { ...everything, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  );
  const listed = client.listTools();
  await server.answer({
    tools: [{ name: 'a', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
  });
  await listed;
  const call = client.callTool('a');
  const { params } = await server.answer({ content: [] });
  await call;
  expect(params).toEqual({ name: 'a', arguments: {} });
});

describe('after reconnecting', () => {
  /** A client with a series of connections, and the handshake of the next one. */
  async function reconnecting() {
    const { open, servers } = place();
    const opened: Promise<unknown>[] = [];
    const shake = async (): Promise<(typeof servers)[0]> => {
      await vi.waitUntil(() => servers.length > opened.length, { interval: 1 });
      const server = servers[opened.length]!;
      const done = server.answer(welcome({ tools: {} })).then(() => server.heard());
      opened.push(done);
      await done;
      return server;
    };
    const connecting = connect(open, { eras: 'legacy', onerror: () => {} });
    const server = await shake();
    const client = await connecting;
    onTestFinished(() => client.close());
    return { client, server, shake };
  }
  const tool = (name: string, annotations: JsonObject = {}) => ({ name, inputSchema: { type: 'object' }, annotations });

  test('a tool is not called again because of its annotations', async () => {
    const { client, server, shake } = await reconnecting();
    const listed = client.listTools();
    await server.answer({ tools: [tool('a', { readOnlyHint: true, idempotentHint: true, destructiveHint: false })] });
    await listed;
    const call = client.callTool('a');
    call.catch(() => {});
    expect(await server.heard()).toMatchObject({ method: 'tools/call' });
    await server.transport.close();
    await expect(call).rejects.toMatchObject({ name: 'ConnectionError' });
    const ping = client.ping();
    const next = await shake();
    expect(await next.answer()).toMatchObject({ method: 'ping' });
    await ping;
    expect(next.take()).toEqual([]);
  });

  test.each(['between two pages', 'during a page'])(
    'a list is read from its start, without a cursor of the old connection: lost %s',
    async (when) => {
      const { client, server, shake } = await reconnecting();
      const listed = client.listTools();
      const first = await server.heard();
      if (when === 'between two pages') {
        // Messages sent in the same turn arrive before the end of the connection.
        await server.transport.send({
          jsonrpc: '2.0',
          id: first.id,
          result: { tools: [tool('a')], nextCursor: 'old' },
        });
      } else {
        await server.send({ id: first.id, result: { tools: [tool('a')], nextCursor: 'old' } });
        await server.heard();
      }
      await server.transport.close();
      const next = await shake();
      const again = await next.answer({ tools: [tool('a')], nextCursor: 'new' });
      expect(again.params).toEqual({});
      expect((await next.answer({ tools: [tool('b')] })).params).toEqual({ cursor: 'new' });
      expect((await listed).map(({ name }) => name)).toEqual(['a', 'b']);
    },
  );

  test('reading the next page of a list is an error', async () => {
    const { client, server } = await reconnecting();
    const tools = client.tools();
    const first = tools.next();
    await server.answer({ tools: [tool('a')], nextCursor: 'old' });
    expect(await first).toMatchObject({ value: { name: 'a' } });
    await server.transport.close();
    await turn();
    await expect(tools.next()).rejects.toMatchObject({
      name: 'ConnectionError',
      message: expect.stringContaining('between two pages of tools/list'),
    });
  });
});

test('a server that asks for roots during a call gets them after the call, too', async () => {
  const roots = deferred<{ uri: string }[]>();
  const { client, server } = await calling({ onroots: () => roots.promise });
  const call = client.callTool('add');
  const { id } = await server.heard();
  await server.send({ id: 'r', method: 'roots/list' });
  await server.send({ id, result: { content: [] } });
  await call;
  roots.resolve([{ uri: 'file:///a' }]);
  expect(await server.heard()).toEqual({ jsonrpc: '2.0', id: 'r', result: { roots: [{ uri: 'file:///a' }] } });
});
