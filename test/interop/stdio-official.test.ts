import { fileURLToPath } from 'node:url';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { childTransport } from '../../src/transport/stdio/child.ts';
import { streamTransport } from '../../src/transport/stdio/stream.ts';
import type { Transport } from '../../src/transport/transport.ts';

const EVERYTHING = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
const everything = () => childTransport({ command: process.execPath, args: [EVERYTHING, 'stdio'], stderr: 'capture' });

/** Both ends of a connection, as byte streams in memory. */
function streamPair(): [Transport, Transport] {
  const [up, down] = [new PassThrough(), new PassThrough()];
  return [streamTransport(down, up, { role: 'client' }), streamTransport(up, down)];
}

function officialServer(): McpServer {
  const server = new McpServer({ name: 'official', version: '1.0.0' });
  server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  server.registerTool('ask', { inputSchema: {} }, async () => {
    const answer = await server.server.elicitInput({
      message: 'Name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return { content: [{ type: 'text', text: JSON.stringify(answer.content) }] };
  });
  server.registerTool('slow', { inputSchema: {} }, async (_args, { signal, sendNotification, _meta }) => {
    await sendNotification({
      method: 'notifications/progress',
      params: { progressToken: _meta?.progressToken ?? 0, progress: 1 },
    });
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  });
  return server;
}

describe('the official client v1 over our child process', () => {
  test('opens a session with server-everything, lists and calls its tools, and leaves no process behind', async () => {
    const transport = everything();
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    expect(client.getServerVersion()?.name).toContain('everything');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'grüße 👋\nline two' } });
    expect(content).toEqual([{ type: 'text', text: 'Echo: grüße 👋\nline two' }]);
    const closed = new Promise<void>((resolve) => (client.onclose = resolve));
    await client.close();
    await closed;
    expect(transport.exit).toBeDefined();
    expect(() => process.kill(transport.pid as number, 0)).toThrow('ESRCH');
  });

  test('notices at once that the server has exited', async () => {
    const transport = everything();
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    const call = client.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 60 } });
    process.kill(transport.pid as number, 'SIGKILL');
    await expect(call).rejects.toThrow('Connection closed');
    expect(transport.closeReason?.message).toContain('was killed by SIGKILL');
  });

  test('gets the reason why a command cannot be started', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    await expect(client.connect(childTransport({ command: 'no-such-command-here' }))).rejects.toThrow(
      'Cannot start no-such-command-here: command not found in any folder of PATH',
    );
  });
});

test('the official client v2 over our child process', async () => {
  const transport = everything();
  const client = new ClientV2({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'v2' } });
  expect(content).toEqual([{ type: 'text', text: 'Echo: v2' }]);
  await client.close();
  expect(transport.exit).toBeDefined();
});

describe.each([
  ['lines over streams', streamPair],
  ['the memory pair', memoryTransportPair],
])('the official server and client v1 over %s', (_, pair) => {
  async function connect() {
    const [near, far] = pair();
    const server = officialServer();
    const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: {} } });
    await Promise.all([server.connect(far), client.connect(near)]);
    return { server, client };
  }

  test('call and answer', async () => {
    const { client } = await connect();
    const results = await Promise.all(
      Array.from({ length: 50 }, (__, n) => client.callTool({ name: 'add', arguments: { a: n, b: 1 } })),
    );
    expect(results.map(({ content }) => (content as { text: string }[])[0]?.text)).toEqual(
      Array.from({ length: 50 }, (__, n) => String(n + 1)),
    );
    await client.close();
  });

  test('ask during a call', async () => {
    const { client } = await connect();
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
    const { content } = await client.callTool({ name: 'ask', arguments: {} });
    expect(content).toEqual([{ type: 'text', text: '{"name":"Ada"}' }]);
    await client.close();
  });

  test('report progress and cancel', async () => {
    const { client } = await connect();
    const controller = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: {} }, undefined, {
      signal: controller.signal,
      onprogress: () => controller.abort('enough'),
    });
    await expect(call).rejects.toThrow('enough');
    await client.close();
  });

  test('close both ends if one closes', async () => {
    const { client, server } = await connect();
    const closed = new Promise<void>((resolve) => (client.onclose = resolve));
    await server.close();
    await closed;
    await expect(client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).rejects.toThrow('Not connected');
  });
});
