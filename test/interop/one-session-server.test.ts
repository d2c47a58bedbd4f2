import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { createBridge } from '../../src/bridge/bridge.ts';
import { connect } from '../../src/client/connect.ts';
import { listen } from '../../src/transport/http/server/listen.ts';
import { createInbound } from '../../src/wire/serve.ts';

/** An official server with one transport, as in its simplest examples: it has one session until that is deleted. */
async function oneSession() {
  const server = new McpServer({ name: 'single', version: '1' });
  server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hello' }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  const http = createServer((request, response) => void transport.handleRequest(request, response));
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

test.each(['2025-11-25', '2026-07-28'] as const)(
  'a bridge to a server that accepts only one session works after its check (a client of %s)',
  async (revision) => {
    const bridge = createBridge({ target: await oneSession(), anonymous: 'same-user' });
    onTestFinished(() => bridge.close());
    await bridge.check();
    const inbound = createInbound(bridge.service);
    const listener = await listen({ port: 0, onsession: inbound.onsession, onrequest: inbound.onrequest });
    onTestFinished(async () => {
      await inbound.close(0);
      await listener.close();
    });
    const client = await connect(listener.url, { revision });
    onTestFinished(() => client.close());
    expect(await client.callTool('hello')).toMatchObject({ content: [{ type: 'text', text: 'hello' }] });
    expect(bridge.upstreams).toBe(1);
  },
);
