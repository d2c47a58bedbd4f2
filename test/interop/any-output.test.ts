import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { McpServer } from '../../src/server/index.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { serve } from '../../src/wire/serve.ts';

test('the official client v1 lists and calls tools beside and with an output that is no object', async () => {
  const server = new McpServer({ name: 'test', version: '1' });
  server.tool('list', { output: z.array(z.number()) }, () => [1, 2]);
  server.tool('record', { output: z.object({ n: z.number() }) }, () => ({ n: 1 }));
  const [near, far] = memoryTransportPair();
  await serve(server.service, far);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(near);
  const { tools } = await client.listTools();
  expect(tools.map(({ name, outputSchema }) => [name, outputSchema?.type])).toEqual([
    ['list', undefined],
    ['record', 'object'],
  ]);
  expect(await client.callTool({ name: 'list' })).toEqual({ content: [{ type: 'text', text: '[1,2]' }] });
  expect(await client.callTool({ name: 'record' })).toMatchObject({ structuredContent: { n: 1 } });
  await client.close();
});
