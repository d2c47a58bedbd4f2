import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { McpServer } from '../../src/server/index.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { serve } from '../../src/wire/serve.ts';

function server(): McpServer {
  const made = new McpServer({ name: 'test', version: '1' });
  made.tool('list', { output: z.array(z.number()) }, () => [1, 2]);
  made.tool('record', { output: z.object({ n: z.number() }) }, () => ({ n: 1 }));
  return made;
}

test('the official client v1 lists and calls tools whose output is not an object', async () => {
  const [near, far] = memoryTransportPair();
  await serve(server().service, far);
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

test('the official client v2 gets complete output that is not an object in 2026-07-28', async () => {
  const [near, far] = memoryTransportPair();
  await serve(server().service, far);
  const versionNegotiation = { mode: { pin: '2026-07-28' } };
  const client = new ClientV2({ name: 'test', version: '1' }, { versionNegotiation });
  await client.connect(near);
  const { tools } = await client.listTools();
  expect(tools.map(({ name, outputSchema }) => [name, outputSchema?.type])).toEqual([
    ['list', 'array'],
    ['record', 'object'],
  ]);
  expect(await client.callTool({ name: 'list' })).toMatchObject({ structuredContent: [1, 2] });
  await client.close();
});
