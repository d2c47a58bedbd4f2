import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test, vi } from 'vitest';
import { McpServer } from '../server/mcp-server.ts';
import { connect } from './connect.ts';

test('calls in flight end after the time limit of close', async () => {
  const server = new McpServer({ name: 'here', version: '1.0.0' });
  server.tool('wait', {}, () => new Promise<string>(() => {}));
  const client = await connect(server);
  const waiting = client.callTool('wait');
  const closing = server.close(0);
  await expect(waiting).rejects.toThrow(/closed|shutting down/);
  await closing;
  await client.close();
});

test('a client of a server in this process ends when the server is closed', async () => {
  const server = new McpServer({ name: 'here', version: '1.0.0' });
  server.tool('hello', {}, () => 'Hello!');
  const client = await connect(server);
  expect(await client.callTool('hello')).toMatchObject({ content: [{ text: 'Hello!' }] });
  await server.close();
  await expect(client.callTool('hello')).rejects.toThrow('The server has been closed');
  await expect(connect(server)).rejects.toThrow('The server has been closed');
  await client.close();
});

test('calls that begin together keep their asynchronous contexts, in handlers and in progress', async () => {
  const storage = new AsyncLocalStorage<number>();
  const server = new McpServer({ name: 'here', version: '1.0.0' });
  server.tool('user', {}, async (_, context) => {
    await context.progress(1);
    return String(storage.getStore());
  });
  const client = await connect(server);
  const heard: unknown[] = [];
  const users = [1, 2, 3, 4];
  const call = (user: number) =>
    storage.run(user, () => client.callTool('user', {}, { onprogress: () => heard.push(storage.getStore()) }));
  const results = await Promise.all(users.map((user) => call(user)));
  expect(results.map(({ content }) => content)).toEqual(users.map((user) => [{ type: 'text', text: String(user) }]));
  expect(heard).toEqual(users);
  await client.close();
});

test('a client of a server in this process works while fake timers replace queueMicrotask', async () => {
  vi.useFakeTimers({ toFake: ['queueMicrotask'] });
  try {
    const server = new McpServer({ name: 'here', version: '1.0.0' });
    server.tool('hello', {}, () => 'Hello!');
    const client = await connect(server);
    expect(await client.callTool('hello')).toMatchObject({ content: [{ text: 'Hello!' }] });
    await client.close();
  } finally {
    vi.useRealTimers();
  }
}, 1000);
