import { expect, test } from 'vitest';
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
