import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport as StdioServerTransportV1 } from '@modelcontextprotocol/sdk/server/stdio.js';
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { completeRounds } from '../../src/core/rounds.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { childTransport } from '../../src/transport/stdio/child.ts';
import { streamTransport } from '../../src/transport/stdio/stream.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { connectUpstream } from '../../src/wire/negotiate.ts';
import type { ConnectUpstreamOptions, NegotiatedUpstream } from '../../src/wire/negotiation.ts';
import { TestExchange, type TestExchangeOptions } from '../support/exchange.ts';
import { aborted, deferred } from '../support/service.ts';

const info = { name: 'official', version: '1' };
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const errors: Error[] = [];

afterEach(() => {
  const [error] = errors.splice(0);
  if (error) throw error;
});

/** The messages that the servers in this process received. */
let cancelled = deferred();

function serverV1(): McpServerV1 {
  const server = new McpServerV1(info, { capabilities: { logging: {}, tools: { listChanged: true } } });
  server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => text(a + b));
  server.registerTool('grow', {}, () => {
    server.registerTool(`tool-${Math.random()}`, {}, () => text(0));
    return text('grown');
  });
  server.registerTool('wait', {}, async ({ signal }) => {
    await aborted(signal);
    cancelled.resolve();
    return text('never seen');
  });
  server.registerTool('ask', {}, async () =>
    text(
      await server.server.elicitInput({
        message: 'Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      }),
    ),
  );
  return server;
}

function serverV2(): McpServerV2 {
  const server = new McpServerV2(info, { capabilities: { logging: {}, tools: { listChanged: true } } });
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => text(a + b));
  server.registerTool('grow', {}, () => {
    server.registerTool(`tool-${Math.random()}`, {}, () => text(0));
    return text('grown');
  });
  server.registerTool('wait', {}, async (context) => {
    await aborted(context.mcpReq.signal);
    cancelled.resolve();
    return text('never seen');
  });
  return server;
}

/** The ends of a connection: our transport, and the streams of an official server. */
function streams(): { near: Transport; input: PassThrough; output: PassThrough } {
  const [input, output] = [new PassThrough(), new PassThrough()];
  return { near: streamTransport(output, input, { role: 'client' }), input, output };
}

const v1 = async (): Promise<Transport> => {
  const { near, input, output } = streams();
  const server = serverV1();
  await server.connect(new StdioServerTransportV1(input, output));
  onTestFinished(() => server.close());
  return near;
};

const v2 = (legacy: 'serve' | 'reject') => async (): Promise<Transport> => {
  const { near, input, output } = streams();
  const handle = serveStdio(serverV2, { legacy, transport: new StdioServerTransport(input, output) });
  onTestFinished(() => handle.close());
  return near;
};

/** A 2.x server with a plain connection, as before there were two eras. */
const v2Legacy = async (): Promise<Transport> => {
  const { near, input, output } = streams();
  const server = serverV2();
  await server.connect(new StdioServerTransport(input, output));
  onTestFinished(() => server.close());
  return near;
};

async function connected(
  transport: Transport,
  options: Partial<ConnectUpstreamOptions> = {},
): Promise<NegotiatedUpstream> {
  const upstream = await connectUpstream(transport, {
    clientInfo: { name: 'us', version: '1' },
    capabilities: { elicitation: {} },
    onerror: (error) => void errors.push(error),
    ...options,
  });
  onTestFinished(() => upstream.close());
  return upstream;
}

function call(
  { service, revision }: NegotiatedUpstream,
  name: string,
  args: JsonObject = {},
  options?: TestExchangeOptions,
): Promise<JsonObject> {
  const exchange = new TestExchange('tools/call', { name, arguments: args }, { ...options, caller: { revision } });
  return service(exchange).then((result) => completeRounds(service, exchange, result));
}

describe.each([
  ['1.x', v1, 'legacy', '2025-11-25', {}],
  ['2.x of both eras', v2('serve'), 'modern', '2026-07-28', {}],
  ['2.x of both eras, pinned to handshakes', v2('serve'), 'legacy', '2025-11-25', { eras: 'legacy' as const }],
  ['2.x without handshakes', v2('reject'), 'modern', '2026-07-28', {}],
  ['2.x with handshakes only', v2Legacy, 'legacy', '2025-11-25', {}],
] as const)('an official server %s over stdio', (_, open, era, revision, options) => {
  test('is detected, described and called', async () => {
    const upstream = await connected(await open(), options);
    expect(upstream).toMatchObject({ era, revision, route: 'connection' });
    expect(upstream.discovered.capabilities).toMatchObject({ tools: { listChanged: true } });
    expect(await call(upstream, 'add', { a: 2, b: 4 })).toMatchObject({ content: [{ text: '6' }] });
    const tools = await upstream.service(new TestExchange('tools/list', {}, { caller: { revision } }));
    expect(tools['tools'].map(({ name }: { name: string }) => name)).toContain('add');
  });

  test('notifies of a changed list', async () => {
    const upstream = await connected(await open(), options);
    const heard = { acknowledged: deferred(), changed: deferred() };
    const exchange = new TestExchange(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      {
        caller: { revision },
        onnotify: (method) => {
          if (method === 'notifications/subscriptions/acknowledged') heard.acknowledged.resolve();
          if (method === 'notifications/tools/list_changed') heard.changed.resolve();
        },
      },
    );
    const over = upstream.service(exchange);
    await heard.acknowledged.promise;
    await call(upstream, 'grow');
    await heard.changed.promise;
    exchange.abort();
    expect(await over).toEqual({});
  });

  test('stops cancelled calls', async () => {
    cancelled = deferred();
    const upstream = await connected(await open(), options);
    const exchange = new TestExchange('tools/call', { name: 'wait' }, { caller: { revision } });
    const waiting = upstream.service(exchange);
    waiting.catch(() => {});
    // A second call is answered, so the first has begun.
    await call(upstream, 'add', { a: 1, b: 1 });
    exchange.abort();
    await cancelled.promise;
    await expect(waiting).rejects.toThrow('aborted');
  });
});

test('an official server 1.x asks during a call', async () => {
  const upstream = await connected(await v1());
  const onask = (): JsonObject => ({ action: 'accept', content: { name: 'Ada' } });
  expect(JSON.stringify(await call(upstream, 'ask', {}, { onask }))).toContain('Ada');
});

test('server-everything is started once, and its handshake is detected', async () => {
  const everything = fileURLToPath(
    new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
  );
  const transport = childTransport({ command: process.execPath, args: [everything, 'stdio'], stderr: 'capture' });
  const upstream = await connected(transport, { probeTimeout: 60_000 });
  expect(upstream).toMatchObject({ era: 'legacy' });
  expect(await call(upstream, 'echo', { message: 'hi' })).toMatchObject({ content: [{ text: 'Echo: hi' }] });
  await upstream.close();
  expect(transport.exit).toBeDefined();
});
