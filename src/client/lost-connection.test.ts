import { expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';

/** What a server answers a request with; undefined for nothing at all, an Error for an error. */
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

/** A client of one server after the other: each connection is to the next, the last of them for ever. */
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
    /** Loses the connection; resolves when the client knows. */
    lose: async () => {
      await current!.close();
      await new Promise((resolve) => void setImmediate(resolve));
    },
  };
}

const silent: Answering = () => undefined;

test('who wants to subscribe does not wait for a connection for longer than they said', async () => {
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

test('a list whose first page is kept is read anew from the next session', async () => {
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
  ['that of the client', { logLevel: 'warning' }, {}, ['warning', 'warning']],
  ['that of the call', { logLevel: 'warning' }, { logLevel: 'error' }, ['error', 'error']],
])('a call that meets a server of another era asks it for log messages as all others: %s', async (...row) => {
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

test('what the first answer of a new connection says may be kept is kept', async () => {
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
