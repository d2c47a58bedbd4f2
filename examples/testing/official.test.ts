import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { createServer } from './server.ts';

test('the official client can add a note', async () => {
  await using listener = await createServer().listen({ port: 0 });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(listener.url)));
  try {
    const { content } = await client.callTool({ name: 'add_note', arguments: { title: 'Milk', text: '2 litres' } });
    expect(content).toEqual([{ type: 'text', text: 'Added Milk.' }]);
  } finally {
    await client.close();
  }
});
