import { expect, test } from 'vitest';
import { McpServer } from '../../src/server/mcp-server.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { connectLegacy } from '../../src/wire/legacy/outbound/outbound.ts';
import { settled } from '../support/service.ts';
import { hello, opened, Peer, served } from '../support/wire.ts';

const REVISION = '2025-11-25';

function taskless(): McpServer {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('now', {}, () => 'noon');
  return server;
}

test('a server without tasks declares none, and knows none of their methods', async () => {
  const { client } = await served(taskless().service);
  const { result } = await client.request(1, 'initialize', hello(REVISION, { tasks: { list: {}, cancel: {} } }));
  expect(result.capabilities).not.toHaveProperty('tasks');
  await client.send({ method: 'notifications/initialized' });
  const { result: listed } = await client.request(2, 'tools/list');
  expect(listed.tools).toHaveLength(1);
  expect([undefined, 'forbidden']).toContain(listed.tools[0].execution?.taskSupport);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
    expect(await client.request(method, method, { taskId: '1' })).toMatchObject({ error: { code: -32601 } });
  }
});

test('a call that requests a task is answered like any other', async () => {
  const { client } = await opened(taskless().service, { revision: REVISION, capabilities: { tasks: {} } });
  const params = { name: 'now' };
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'x' } };
  const plain = (await client.request(1, 'tools/call', params)).result;
  expect(plain).toEqual({ content: [{ type: 'text', text: 'noon' }] });
  expect((await client.request(2, 'tools/call', { ...params, task: { ttl: 60_000 } })).result).toEqual(plain);
  expect((await client.request(3, 'tools/call', { ...params, task: {}, _meta: related })).result).toEqual(plain);
});

/** Two clients of one server, which the test plays, over its bridge. */
async function bridged(): Promise<{ clients: Peer[]; server: Peer; errors: Error[] }> {
  const [near, far] = memoryTransportPair();
  const server = new Peer(far);
  await far.start();
  const errors: Error[] = [];
  const clientInfo = { name: 'bridge', version: '1' };
  const connecting = connectLegacy(near, { clientInfo, onerror: (error) => void errors.push(error) });
  await settled();
  const capabilities = { tasks: { requests: { tools: { call: {} } } } };
  const result = { protocolVersion: REVISION, capabilities, serverInfo: { name: 's', version: '1' } };
  await server.send({ id: server.next().id, result });
  const { service } = await connecting;
  const clients = [await opened(service), await opened(service)].map(({ client }) => client);
  await settled();
  server.take();
  return { clients, server, errors };
}

const progress = (progressToken: unknown, n: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, progress: n },
});

/** Starts a task with a progress token of the client, and returns the token that the server got. */
async function begin(client: Peer, server: Peer, taskId: string, progressToken: string | number): Promise<unknown> {
  await client.send({ id: taskId, method: 'tools/call', params: { name: 't', task: {}, _meta: { progressToken } } });
  const { id, params } = server.next();
  await server.send({ id, result: { task: { taskId, status: 'working' } } });
  expect(client.next()).toMatchObject({ id: taskId, result: { task: { taskId } } });
  return params['_meta'].progressToken;
}

test('the progress of a task behind a bridge continues after its request is answered, only for its client', async () => {
  const { clients, server, errors } = await bridged();
  const [one, other] = clients as [Peer, Peer];
  const tokens = [
    await begin(one, server, 'a', 'p'),
    await begin(other, server, 'b', 'p'),
    await begin(one, server, 'c', 7),
  ];
  expect(new Set(tokens).size).toBe(3);
  await server.send(...tokens.map((token, n) => progress(token, n)));
  expect(one.take()).toEqual([progress('p', 0), progress(7, 2)]);
  expect(other.take()).toEqual([progress('p', 1)]);
  expect(errors).toEqual([]);
});

test.each([
  ['known from a notification', 'notifications/tasks/status', undefined],
  ['known from a status request', 'tasks/get', { status: 'completed' }],
  ['known from its cancellation', 'tasks/cancel', { status: 'cancelled' }],
  ['known from its result', 'tasks/result', { content: [] }],
])('the progress of a task behind a bridge stops when the task has ended: %s', async (_, method, result) => {
  const { clients, server, errors } = await bridged();
  const client = clients[0]!;
  const token = await begin(client, server, 'a', 'p');
  const going = await begin(client, server, 'b', 'q');
  if (result) {
    await client.send({ id: 'x', method, params: { taskId: 'a' } });
    await server.send({ id: server.next().id, result: { taskId: 'a', ...result } });
  } else await server.send({ method, params: { taskId: 'a', status: 'failed' } });
  client.take();
  await server.send(progress(token, 1), progress(going, 2));
  expect(client.take()).toEqual([progress('q', 2)]);
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('belongs to no active request')]);
});

test('the status of a task behind a bridge goes to the client that created it, and the status of an unknown task to none', async () => {
  const { clients, server, errors } = await bridged();
  const [one, other] = clients as [Peer, Peer];
  await begin(one, server, 'a', 'p');
  const status = (taskId: string, said: string) => ({
    jsonrpc: '2.0',
    method: 'notifications/tasks/status',
    params: { taskId, status: said, statusMessage: 'private' },
  });
  await server.send(status('a', 'working'), status('a', 'completed'), status('b', 'working'));
  expect(one.take()).toEqual([status('a', 'working'), status('a', 'completed')]);
  expect(other.take()).toEqual([]);
  await other.transport.close();
  await settled();
  await server.send(status('b', 'working'));
  expect(one.take()).toEqual([]);
  expect(errors).toEqual([]);
});
