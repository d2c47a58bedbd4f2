import { expect, test } from 'vitest';
import { Meta } from '../../src/protocol/methods.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { scripted } from '../support/service.ts';
import { hello, opened, served } from '../support/wire.ts';

/**
 * Keys that revision 2025-11-25 or a later one reserves, except the one that marks a request as one of a later
 * revision.
 */
const RESERVED = [
  ...Object.values(Meta).filter((key) => key !== Meta.ProtocolVersion),
  'io.modelcontextprotocol/related-task',
  'dev.mcp/odd',
  'com.mcp.tools/odd',
];

test('a request with any values of the reserved keys in _meta is passed on and answered', async () => {
  const { service, seen } = scripted();
  const { client } = await opened(service);
  for (const [id, value] of [null, 0, 'x', [], {}, { taskId: 5 }].entries()) {
    const meta = Object.fromEntries(RESERVED.map((key) => [key, value]));
    expect(await client.request(id, 'echo', { _meta: meta })).toEqual({
      jsonrpc: '2.0',
      id,
      result: { params: { _meta: meta } },
    });
    expect(seen.at(-1)!.params).toEqual({ _meta: meta });
  }
});

test('a tool is called with any values of the reserved keys in _meta', async () => {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('t', {}, async (_, ctx) => {
    await ctx.progress(1);
    await ctx.log('info', 'x');
    return 'done';
  });
  const { client } = await opened(server.service);
  for (const [id, value] of [null, 0.5, [], {}].entries()) {
    const meta = Object.fromEntries(RESERVED.map((key) => [key, value]));
    const { result } = await client.request(`c${id}`, 'tools/call', { name: 't', _meta: meta });
    expect(result).toEqual({ content: [{ type: 'text', text: 'done' }] });
    expect(client.take()).toEqual([expect.objectContaining({ method: 'notifications/message' })]);
  }
});

test('the keys that the package puts into _meta have the form of the specification', async () => {
  const label = '[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
  const form = new RegExp(`^(?:${label}(?:\\.${label})*/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$`);
  const keys: string[] = Object.values(Meta);
  for (const key of keys) expect(key).toMatch(form);
  const prefixes = keys.filter((key) => key.includes('/')).map((key) => key.split('/')[0]);
  expect(new Set(prefixes)).toEqual(new Set(['io.modelcontextprotocol']));
  // A handshake revision gets none of them, except those that the caller gave.
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('t', {}, () => 1);
  const { client } = await served(server.service);
  const answers = [await client.request(1, 'initialize', hello()), await client.request(2, 'tools/list')];
  answers.push(await client.request(3, 'tools/call', { name: 't' }));
  expect(JSON.stringify(answers)).not.toContain('_meta');
});
