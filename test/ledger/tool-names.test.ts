import { expect, test } from 'vitest';
import { McpServer } from '../../src/server/mcp-server.ts';
import { opened } from '../support/wire.ts';

function named(...names: string[]): { server: McpServer; errors: string[] } {
  const errors: string[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: ({ message }) => void errors.push(message) });
  for (const name of names) server.tool(name, {}, () => name);
  return { server, errors };
}

test('names that differ only in case are different tools', async () => {
  const { server } = named('add', 'Add');
  const { client } = await opened(server.service);
  for (const [id, name] of ['add', 'Add'].entries()) {
    const { result } = await client.request(id, 'tools/call', { name });
    expect(result).toEqual({ content: [{ type: 'text', text: name }] });
  }
  expect(await client.request('x', 'tools/call', { name: 'ADD' })).toMatchObject({ error: { code: -32602 } });
});

test('a name that the specification advises against is reported to the author', () => {
  const odd = ['x'.repeat(129), 'two words', 'a,b', 'a/b', 'größe'];
  const { errors } = named(...odd, 'x', 'x'.repeat(128), 'A-Z_0.9');
  expect(errors).toHaveLength(odd.length);
  for (const [index, name] of odd.entries()) expect(errors[index]).toContain(JSON.stringify(name));
});
