import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryState, type State } from '../store/state.ts';
import { McpServer } from './mcp-server.ts';

const caller = {
  revision: '2026-07-28',
  capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
} as const;

function setUp() {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('slow', { task: true }, () => new Promise(() => {}));
  onTestFinished(() => server.close(1));
  const send = (method: string, params: JsonObject): Promise<any> =>
    server.service(new TestExchange(method, params, { caller }));
  return {
    server,
    start: async (): Promise<string> => (await send('tools/call', { name: 'slow' })).taskId,
    statusOf: async (taskId: string): Promise<string> => (await send('tasks/get', { taskId })).status,
  };
}

async function served(state: State) {
  const made = setUp();
  await made.server.listen({ port: 0, state });
  return made;
}

async function occupiedPort(): Promise<number> {
  const occupied = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void occupied.close());
  await once(occupied, 'listening');
  return (occupied.address() as AddressInfo).port;
}

test('servers of one process with one state do not end the tasks of each other', async () => {
  const alive = new Set(['a', 'b']);
  const state = { ...memoryState(), node: 'a', isAlive: (node: string) => Promise.resolve(alive.has(node)) };
  const [one, two, other] = [await served(state), await served(state), await served({ ...state, node: 'b' })];
  const task = await one.start();
  for (const { statusOf } of [two, other, one]) expect(await statusOf(task)).toBe('working');
  alive.delete('a');
  expect(await other.statusOf(task)).toBe('failed');
});

test('a listener that could not open does not take the store from one that did', async () => {
  const port = await occupiedPort();
  const state = memoryState();
  const { server, start } = setUp();
  const [failed] = await Promise.allSettled([server.listen({ port, state }), server.listen({ port: 0, state })]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('already in use') } });
  expect(await state.tasks.get(await start(), undefined)).toMatchObject({ status: 'working' });
});

test('listeners that could not open do not keep the tasks of a later one out of another store', async () => {
  const port = await occupiedPort();
  const { server, start } = setUp();
  const former = memoryState();
  for (const { status } of await Promise.allSettled([1, 2].map(() => server.listen({ port, state: former }))))
    expect(status).toBe('rejected');
  const state = memoryState();
  await server.listen({ port: 0, state });
  expect(await state.tasks.get(await start(), undefined)).toMatchObject({ status: 'working' });
});
