import { expect, test } from 'vitest';
import { McpServer } from '../../src/server/mcp-server.ts';
import { hello, opened, served } from '../support/wire.ts';

const REVISION = '2025-11-25';

function taskless(): McpServer {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('now', {}, () => 'noon');
  return server;
}

test('a server without tasks declares none, and has none of their methods', async () => {
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

test('a call that asks for a task is answered as any other', async () => {
  const { client } = await opened(taskless().service, { revision: REVISION, capabilities: { tasks: {} } });
  const params = { name: 'now' };
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 'x' } };
  const plain = (await client.request(1, 'tools/call', params)).result;
  expect(plain).toEqual({ content: [{ type: 'text', text: 'noon' }] });
  expect((await client.request(2, 'tools/call', { ...params, task: { ttl: 60_000 } })).result).toEqual(plain);
  expect((await client.request(3, 'tools/call', { ...params, task: {}, _meta: related })).result).toEqual(plain);
});
