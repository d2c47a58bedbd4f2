import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { expect, onTestFinished, test } from 'vitest';
import { createBridge } from '../../src/bridge/bridge.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { serve } from '../../src/wire/serve.ts';

test("official peers of 2025-11-25 see each other's extensions through a bridge", async () => {
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
  const server = new McpServerV1({ name: 'apps', version: '1' }, { capabilities: { tools: {}, extensions: ui } });
  const bridge = createBridge({
    target: () => {
      const [near, far] = memoryTransportPair();
      void server.connect(far);
      return near;
    },
  });
  const [near, far] = memoryTransportPair();
  await serve(bridge.service, far);
  const client = new Client({ name: 'host', version: '1' }, { capabilities: { extensions: ui } });
  await client.connect(near);
  onTestFinished(async () => {
    await client.close();
    await bridge.close();
  });
  expect(client.getServerCapabilities()).toMatchObject({ extensions: ui });
  expect(server.server.getClientCapabilities()).toMatchObject({ extensions: ui });
});
