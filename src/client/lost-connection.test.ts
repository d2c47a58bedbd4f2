import { describe, expect, onTestFinished, test } from 'vitest';
import { deferred } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';

/** The server's response to a request: undefined for no response, an Error for an error response. */
type Answering = (method: string, params: JsonObject) => JsonObject | Error | undefined;

const legacy =
  (capabilities: JsonObject, others: Answering = () => ({})): Answering =>
  (method, params) => {
    if (method === 'server/discover') return new Error('what is that?');
    if (method !== 'initialize') return others(method, params);
    return { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'legacy', version: '1' } };
  };

const modern =
  (others: Answering): Answering =>
  (method, params) =>
    method === 'server/discover'
      ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, logging: {} } }
      : others(method, params);

/** A client of a series of servers: each connection is to the next one, and the last one is used for ever. */
async function following(servers: readonly [Answering, ...Answering[]], options: ClientOptions = {}) {
  let count = 0;
  let current: Transport | undefined;
  const client = await connect(
    () => {
      const [near, far] = memoryTransportPair();
      const answering = servers[Math.min(count, servers.length - 1)]!;
      count += 1;
      current = far;
      far.onmessage = (message) => {
        if (!('method' in message) || !('id' in message)) return;
        const { id, method, params = {} } = message;
        const answer = answering(method, params as JsonObject);
        if (answer instanceof Error) {
          void far.send({ jsonrpc: '2.0', id, error: { code: -32601, message: answer.message } });
        } else if (answer) void far.send({ jsonrpc: '2.0', id, result: answer });
      };
      void far.start();
      return near;
    },
    { onerror: () => {}, ...options },
  );
  onTestFinished(() => client.close());
  return {
    client,
    connections: () => count,
    /** Sends the client a notification. Resolves when the client has it. */
    say: async (method: string) => {
      await current!.send({ jsonrpc: '2.0', method });
      await new Promise((resolve) => void setImmediate(resolve));
    },
    /** Closes the connection. Resolves when the client knows. */
    lose: async () => {
      await current!.close();
      await new Promise((resolve) => void setImmediate(resolve));
    },
  };
}

const silent: Answering = () => undefined;

test('a subscriber waits for a connection only as long as its own timeout', async () => {
  const { client, lose } = await following([legacy({ resources: { subscribe: true } }), silent], { eras: 'legacy' });
  await lose();
  const leaving = new AbortController();
  const given = client.subscribe('file:///a', () => {}, { signal: leaving.signal });
  leaving.abort(new Error('given up'));
  await expect(given).rejects.toThrow('given up');
  await expect(client.subscribe('file:///a', () => {}, { timeout: 20 })).rejects.toMatchObject({
    name: 'TimeoutError',
    limit: 20,
  });
});

test('a list whose first page is cached is read again in the next session', async () => {
  const tools = legacy({ tools: {} }, (_, { cursor }) => {
    const [name, more] = cursor === undefined ? ['a', { nextCursor: 'b', ttlMs: 60_000 }] : ['b', {}];
    return { tools: [{ name, inputSchema: { type: 'object' } }], ...more };
  });
  const { client, connections, lose } = await following([tools], { eras: 'legacy' });
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['a', 'b']);
  await lose();
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['a', 'b']);
  expect(connections()).toBe(2);
});

test.each<[string, ClientOptions, object, unknown[]]>([
  ['none', {}, {}, [undefined, undefined]],
  ['the level of the client', { logLevel: 'warning' }, {}, ['warning', 'warning']],
  ['the level of the call', { logLevel: 'warning' }, { logLevel: 'error' }, ['error', 'error']],
])('the call that finds a server of another era has the same log level as later calls: %s', async (...row) => {
  const [, options, given, expected] = row;
  const levels: unknown[] = [];
  const newer = modern((method, { _meta }) => {
    if (method !== 'example/ask') return undefined;
    levels.push((_meta as JsonObject | undefined)?.['io.modelcontextprotocol/logLevel']);
    return { resultType: 'complete' };
  });
  const { client, lose } = await following([legacy({ tools: {} }), newer], options);
  await lose();
  await client.request('example/ask', {}, given);
  await client.request('example/ask', {}, given);
  expect(client.revision).toBe('2026-07-28');
  expect(levels).toEqual(expected);
});

test('a call that waits while another call finds a server of another era has the same log level as all others', async () => {
  const levels: unknown[] = [];
  const newer = modern((method, { _meta }) => {
    if (!method.startsWith('example/')) return undefined;
    levels.push((_meta as JsonObject | undefined)?.['io.modelcontextprotocol/logLevel']);
    return { resultType: 'complete' };
  });
  const { client, lose } = await following([legacy({ tools: {} }), newer]);
  const held = deferred();
  client.use((next) => async (exchange) => {
    if (exchange.method === 'example/held') await held.promise;
    return next(exchange);
  });
  const call = client.request('example/held', {});
  await lose();
  await client.request('example/ask', {});
  held.resolve();
  await call;
  // In an older revision, no level would mean all messages.
  expect(levels).toEqual([undefined, undefined]);
});

describe('a tool that has changed', () => {
  const listed = (outputSchema: JsonObject): JsonObject => ({
    tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema }],
  });
  const numbers = { type: 'object', properties: { n: { type: 'number' } } };
  const strings = { type: 'object', properties: { n: { type: 'string' } } };
  const answering = (schema: JsonObject, n: unknown): Answering =>
    legacy({ tools: { listChanged: true } }, (method) =>
      method === 'tools/list' ? listed(schema) : { content: [], structuredContent: { n } },
    );

  test('is not called by its old definition after the server announced a change', async () => {
    let answer = answering(numbers, 1);
    const { client, say } = await following([(method, params) => answer(method, params)], { eras: 'legacy' });
    await client.listTools();
    answer = answering(strings, 'one');
    await expect(client.callTool('a')).rejects.toMatchObject({ name: 'InvalidResultError' });
    await say('notifications/tools/list_changed');
    expect(await client.callTool('a')).toMatchObject({ structuredContent: { n: 'one' } });
  });

  test('is called without the definition of the previous server', async () => {
    const { client, lose } = await following([answering(numbers, 1), answering(strings, 'one')], { eras: 'legacy' });
    await client.listTools();
    await lose();
    expect(await client.callTool('a')).toMatchObject({ structuredContent: { n: 'one' } });
  });
});

test('the first result of a new connection is cached if it allows that', async () => {
  let asked = 0;
  const tools = legacy({ tools: {} }, (method) => {
    if (method === 'tools/list') asked += 1;
    return { tools: [], ttlMs: 60_000 };
  });
  const { client, lose } = await following([tools], { eras: 'legacy' });
  await client.listTools();
  await lose();
  await client.listTools();
  expect(asked).toBe(2);
  await client.listTools();
  expect(asked).toBe(2);
});

describe('a read whose connection is lost', () => {
  /** A client whose reads wait for a response, and the number of its requests. */
  async function reading() {
    const one = await following([legacy({}, silent)], { eras: 'legacy' });
    let requests = 0;
    one.client.use((next) => (exchange) => {
      requests += 1;
      return next(exchange);
    });
    return { ...one, requests: () => requests };
  }

  test('is repeated', async () => {
    const { client, lose, requests } = await reading();
    const read = client.request('example/read', {}, { idempotent: true, timeout: 200 });
    const failed = read.catch((error: unknown) => error);
    await lose();
    expect(await failed).toMatchObject({ name: 'TimeoutError' });
    expect(requests()).toBe(2);
  });

  test('is not repeated after the client was closed', async () => {
    const { client, connections, lose, requests } = await reading();
    const leaving = new AbortController();
    const read = client.request('example/read', {}, { idempotent: true, signal: leaving.signal });
    leaving.abort(new Error('given up'));
    await expect(read).rejects.toThrow('given up');
    await lose();
    expect([requests(), connections()]).toEqual([1, 1]);
  });

  test('fails with the error of the connection if there is no other connection', async () => {
    const [near, far] = memoryTransportPair();
    const answer = legacy({}, silent);
    far.onmessage = (message) => {
      if (!('method' in message) || !('id' in message)) return;
      const result = answer(message.method, {});
      if (result && !(result instanceof Error)) void far.send({ jsonrpc: '2.0', id: message.id, result });
    };
    await far.start();
    const client = await connect(near, { eras: 'legacy', onerror: () => {} });
    onTestFinished(() => client.close());
    const read = client.request('example/read', {}, { idempotent: true });
    await far.close();
    await expect(read).rejects.toThrow('example/read failed: Connection closed');
  });
});
