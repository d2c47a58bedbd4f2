import { expect, test } from 'vitest';
import { opened } from '../../test/support/wire.ts';
import { LEGACY_REVISIONS } from '../protocol/revisions.ts';
import { McpServer } from './mcp-server.ts';

const broken = () => {
  throw new Error('the disk is full');
};

function brokenServer(): McpServer {
  const server = new McpServer({ name: 'test', version: '1', onerror: () => {} });
  server.prompt('p', { arguments: { a: { complete: broken } } }, broken);
  server.resource('a://1', { name: 'one' }, broken);
  server.resourceTemplate('b://{x}', { name: 'b', list: broken }, broken);
  return server.use((next) => (exchange) => {
    if (exchange.method === 'subscriptions/listen' && exchange.caller.logLevel !== undefined) broken();
    return next(exchange);
  });
}

test.each([
  ['prompts/get', { name: 'p' }],
  ['resources/read', { uri: 'a://1' }],
  ['resources/read', { uri: 'b://1' }],
  ['resources/list', {}],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
  ['logging/setLevel', { level: 'info' }],
])('what fails within %s is −32603, and the server goes on', async (method, params) => {
  for (const revision of LEGACY_REVISIONS) {
    const { client } = await opened(brokenServer().service, { revision });
    expect(await client.request(1, method, params)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: 'the disk is full' },
    });
    expect(await client.request(2, 'prompts/list')).toHaveProperty('result.prompts');
  }
});
