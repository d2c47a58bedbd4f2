import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import type { Message } from '../jsonrpc/message.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { McpServer } from './mcp-server.ts';

function setUp() {
  const errors: Error[] = [];
  const server = new McpServer({ name: 'test', version: '1', onerror: (error) => errors.push(error) });
  server.tool('who', {}, (_, ctx) => ctx.caller.clientInfo?.name ?? 'nobody');
  return { server, errors };
}

const initialize = {
  jsonrpc: '2.0' as const,
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'client', version: '1' } },
};
const initialized = { jsonrpc: '2.0' as const, method: 'notifications/initialized' };
const call = { jsonrpc: '2.0' as const, id: 2, method: 'tools/call', params: { name: 'who' } };
const answer = { jsonrpc: '2.0', id: 2, result: { content: [{ type: 'text', text: 'client' }] } };

test('a server serves any number of connections at once', async () => {
  const { server, errors } = setUp();
  for (let round = 0; round < 2; round += 1) {
    const [ours, theirs] = memoryTransportPair();
    await server.connect(ours);
    const received: Message[] = [];
    const answered = new Promise<void>((resolve) => {
      theirs.onmessage = (message: Message) => {
        received.push(message);
        if ('id' in message && message.id === 2) resolve();
      };
    });
    await theirs.start();
    for (const message of [initialize, initialized, call]) await theirs.send(message);
    await answered;
    expect(received).toEqual([
      expect.objectContaining({
        id: 1,
        result: expect.objectContaining({ serverInfo: { name: 'test', version: '1' } }),
      }),
      answer,
    ]);
    await theirs.close();
  }
  expect(errors).toEqual([]);
});

test('over stdio a server answers what it was asked before the input ended', async () => {
  const { server, errors } = setUp();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const over = server.stdio({ stdin, stdout });
  stdin.end([initialize, initialized, call].map((message) => `${JSON.stringify(message)}\n`).join(''));
  const lines: unknown[] = [];
  const reading = (async () => {
    for await (const line of createInterface(stdout)) lines.push(JSON.parse(line));
  })();
  await over;
  stdout.end();
  await reading;
  expect(lines).toEqual([expect.objectContaining({ id: 1 }), answer]);
  expect(errors).toEqual([]);
});

test('over HTTP a server listens on a port of its own', async () => {
  const { server, errors } = setUp();
  const listener = await server.listen({ port: 0 });
  try {
    const post = (message: object, session?: string | null) =>
      fetch(listener.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session ? { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' } : {}),
        },
        body: JSON.stringify(message),
      });
    const opened = await post(initialize);
    const session = opened.headers.get('mcp-session-id');
    await opened.text();
    expect((await post(initialized, session)).status).toBe(202);
    expect(await (await post(call, session)).json()).toEqual(answer);
    expect(errors).toEqual([]);
  } finally {
    await listener.close();
  }
});

test('an address that is taken is an error', async () => {
  const { server } = setUp();
  const listener = await server.listen({ port: 0 });
  await expect(server.listen({ port: listener.port })).rejects.toThrow('already in use');
  await listener.close();
});
