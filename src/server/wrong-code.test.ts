import { expect, test } from 'vitest';
import { RpcError } from '../jsonrpc/errors.ts';
import { testClient } from '../testing/test-client.ts';
import { McpServer } from './mcp-server.ts';

test.each(['2026-07-28', '2025-11-25'] as const)(
  'an RpcError with a code that is no integer ends the call in %s',
  async (revision) => {
    const errors: string[] = [];
    const server = new McpServer({ name: 'files', version: '1', onerror: ({ message }) => errors.push(message) });
    server.tool('open', {}, () => {
      const error = Object.assign(new Error('no such file'), { code: 'ENOENT' });
      throw new RpcError(error.code as unknown as number, error.message);
    });
    await using client = await testClient(server, { revision, timeout: 1000 });
    const { isError, content } = await client.callTool('open');
    expect([isError, content]).toMatchObject([true, [{ text: 'Tool open failed with an internal error' }]]);
    expect(errors).toEqual(['Tool open failed: The code of an RpcError must be an integer, not ENOENT: no such file']);
  },
);
