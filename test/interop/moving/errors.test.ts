import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as OfficialServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { McpServer, RpcError, UserError } from 'everwire/server';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

/** What the official client gets for each kind of failure. */
async function outcomes(server: OfficialServer | McpServer): Promise<Record<string, unknown>> {
  const client = new Client({ name: 'reader', version: '1.0.0' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  await client.connect(ours);
  onTestFinished(() => client.close());
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<unknown> => {
    try {
      const { isError, content } = await client.callTool({ name, arguments: args });
      return { isError, text: (content as { text: string }[])[0]?.text };
    } catch (error) {
      return (error as McpError).code;
    }
  };
  return {
    error: await call('error'),
    protocolError: await call('protocol-error'),
    invalid: await call('typed', { a: 1 }),
    unknown: await call('nowhere'),
    resource: await client.readResource({ uri: 'test://nowhere' }).catch((error: McpError) => error.code),
  };
}

test('failures reach the client as the page about the SDK 1.x says', async () => {
  const official = new OfficialServer({ name: 'test', version: '1.0.0' });
  official.registerTool('error', {}, () => {
    throw new Error('The message');
  });
  official.registerTool('protocol-error', {}, () => {
    throw new McpError(ErrorCode.InvalidRequest, 'The message');
  });
  official.registerTool('typed', { inputSchema: { a: z.string() } }, () => ({ content: [] }));
  official.registerResource('here', 'test://here', {}, () => ({ contents: [] }));
  expect(await outcomes(official)).toEqual({
    error: { isError: true, text: 'The message' },
    protocolError: { isError: true, text: 'MCP error -32600: The message' },
    invalid: { isError: true, text: expect.stringContaining('Invalid arguments for tool typed') },
    unknown: { isError: true, text: expect.stringContaining('not found') },
    resource: -32602,
  });

  const reported: string[] = [];
  const server = new McpServer({ name: 'test', version: '1.0.0', onerror: ({ message }) => reported.push(message) });
  server.tool('error', {}, () => {
    throw new Error('The message');
  });
  server.tool('protocol-error', {}, () => {
    throw new RpcError(-32600, 'The message');
  });
  server.tool('typed', { input: z.object({ a: z.string() }) }, () => 'never');
  server.tool('user-error', {}, () => {
    throw new UserError('For the model');
  });
  server.resource('test://here', { name: 'here' }, () => '');
  expect(await outcomes(server)).toEqual({
    error: { isError: true, text: 'Tool error failed with an internal error' },
    protocolError: -32600,
    invalid: { isError: true, text: expect.stringContaining('Invalid arguments for tool typed') },
    unknown: -32602,
    resource: -32002,
  });
  expect(reported).toEqual(['Tool error failed: The message']);
});
