import { expect, test } from 'vitest';
import { McpServer } from '../../src/server/mcp-server.ts';
import { opened } from '../support/wire.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('a client is notified of each list that changes, but not before it is initialized', async () => {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('t', {}, () => 1);
  server.prompt('p', {}, () => 'x');
  const resource = server.resource('a://1', { name: 'r' }, () => 'x');
  const { client } = await opened(server.service);
  expect(client.take()).toEqual([]);
  for (const [change, list] of [
    [() => void server.tool('u', {}, () => 1), 'tools'],
    [() => void server.prompt('q', {}, () => 'x'), 'prompts'],
    [() => resource.remove(), 'resources'],
    [() => void server.resourceTemplate('b://{x}', { name: 'b' }, () => 'x'), 'resources'],
  ] as const) {
    change();
    await turn();
    expect(client.take()).toEqual([{ jsonrpc: '2.0', method: `notifications/${list}/list_changed` }]);
  }
});
