import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  RootsListChangedNotificationSchema,
  SubscribeRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { listen, type HttpListener } from '../../src/transport/http/server/listen.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { aborted, deferred } from '../support/service.ts';

/** The messages that the servers in this process received. */
const seen = { started: 0, cancelled: 0, rootsChanged: 0 };

const info = { name: 'official', version: '1' };
const capabilities = { logging: {}, resources: { subscribe: true }, tools: { listChanged: true } };
const sample = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }], maxTokens: 5 };
const form = {
  message: 'Your name?',
  requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } } },
};
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });

/** An official 1.x server with a tool for each thing that a server can do during a call. */
function serverV1(): McpServerV1 {
  const mcp = new McpServerV1(info, { capabilities });
  const { server } = mcp;
  mcp.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => text(a + b));
  mcp.registerTool('sample', {}, async () => text(await server.createMessage(sample)));
  mcp.registerTool('elicit', {}, async () => text(await server.elicitInput(form)));
  mcp.registerTool('roots', {}, async () => text(await server.listRoots()));
  mcp.registerTool('count', {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta!.progressToken!;
    for (let progress = 1; progress <= 3; progress += 1) {
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
    }
    // The 1.x client loses progress that comes in one chunk with the response, so this waits until it is handled.
    await server.listRoots();
    return text('counted');
  });
  mcp.registerTool('log', {}, async ({ sessionId }) => {
    await server.sendLoggingMessage({ level: 'debug', data: 'fine' }, sessionId);
    await server.sendLoggingMessage({ level: 'error', data: 'bad' }, sessionId);
    return text('logged');
  });
  mcp.registerTool('wait', {}, async ({ signal }) => {
    seen.started += 1;
    await aborted(signal);
    seen.cancelled += 1;
    return text('never seen');
  });
  mcp.registerTool('grow', {}, () => {
    mcp.registerTool(`tool-${Math.random()}`, {}, () => text(0));
    return text('grown');
  });
  mcp.registerTool('fail-late', {}, async ({ sendNotification }) => {
    await sendNotification({ method: 'notifications/message', params: { level: 'error', data: 'about to' } });
    throw new Error('failed');
  });
  mcp.registerTool('pause', {}, async ({ closeSSEStream }) => {
    closeSSEStream?.();
    return text(closeSSEStream ? 'paused' : 'not paused');
  });
  server.setRequestHandler(SubscribeRequestSchema, async ({ params }) => {
    await server.sendResourceUpdated({ uri: params.uri });
    return {};
  });
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => void (seen.rootsChanged += 1));
  return mcp;
}

/** The same for an official 2.x server. */
function serverV2(): McpServerV2 {
  const mcp = new McpServerV2(info, { capabilities: { logging: {}, tools: { listChanged: true } } });
  const { server } = mcp;
  mcp.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => text(a + b));
  mcp.registerTool('sample', {}, async () => text(await server.createMessage(sample)));
  mcp.registerTool('elicit', {}, async () => text(await server.elicitInput(form)));
  mcp.registerTool('roots', {}, async () => text(await server.listRoots()));
  return mcp;
}

let listener: HttpListener;
const servers: (McpServerV1 | McpServerV2)[] = [];
const errors: Error[] = [];

function serving(connect: (transport: Transport) => Promise<void>): void {
  beforeAll(async () => {
    listener = await listen({
      port: 0,
      grace: 20,
      retry: 20,
      onsession: connect,
      onerror: (error) => void errors.push(error),
    });
  });
  afterAll(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
    await listener.close();
  });
}

interface Heard {
  client: Client;
  logs: unknown[];
  updates: string[];
  listChanged: Promise<void>;
}

let open: Client[] = [];
afterEach(async () => {
  for (const client of open) {
    // Closing cuts its own streams, which it reports.
    client.onerror = undefined;
    await client.close();
  }
  open = [];
  const [error] = errors.splice(0);
  if (error) throw error;
});

async function connected(kind: string): Promise<Heard> {
  const client = new Client(
    { name: 'client', version: '1' },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: `${params.maxTokens} tokens` },
  }));
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///home' }] }));
  const logs: unknown[] = [];
  const updates: string[] = [];
  const listChanged = deferred();
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => listChanged.resolve());
  client.onerror = (error) => void errors.push(error);
  open.push(client);
  const transport =
    kind === 'SSE'
      ? new SSEClientTransport(new URL(listener.sseUrl!))
      : new StreamableHTTPClientTransport(new URL(listener.url));
  await client.connect(transport);
  return { client, logs, updates, listChanged: listChanged.promise };
}

async function call(client: Client, name: string, args = {}, options = {}): Promise<any> {
  const { content } = await client.callTool({ name, arguments: args }, undefined, options);
  return JSON.parse((content as { text: string }[])[0]!.text);
}

const questions = (kind: string): void => {
  test('a tool is called', async () => {
    const { client } = await connected(kind);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('add');
    expect(await call(client, 'add', { a: 2, b: 4 })).toBe(6);
  });

  test('sampling, elicitation and roots requests are answered during a call', async () => {
    const { client } = await connected(kind);
    expect(await call(client, 'sample')).toMatchObject({ model: 'm', content: { text: '5 tokens' } });
    expect(await call(client, 'elicit')).toMatchObject({ action: 'accept', content: { name: 'Ada' } });
    expect(await call(client, 'roots')).toEqual({ roots: [{ uri: 'file:///home' }] });
  });
};

describe.each(['Streamable HTTP', 'SSE'])('an official 1.x server, called over %s', (kind) => {
  serving(async (transport) => {
    const server = serverV1();
    servers.push(server);
    await server.connect(transport);
  });
  questions(kind);

  test('progress is reported', async () => {
    const { client } = await connected(kind);
    const steps: number[] = [];
    expect(
      await call(client, 'count', {}, { onprogress: ({ progress }: { progress: number }) => steps.push(progress) }),
    ).toBe('counted');
    expect(steps).toEqual([1, 2, 3]);
  });

  test('log messages arrive from the requested level on', async () => {
    const { client, logs } = await connected(kind);
    await call(client, 'log');
    await client.setLoggingLevel('error');
    await call(client, 'log');
    await expect.poll(() => logs).toEqual(['fine', 'bad', 'bad']);
  });

  test('a cancelled call is stopped', async () => {
    const { client } = await connected(kind);
    const before = { ...seen };
    const controller = new AbortController();
    const pending = client.callTool({ name: 'wait' }, undefined, { signal: controller.signal });
    pending.catch(() => {});
    await expect.poll(() => seen.started).toBe(before.started + 1);
    controller.abort('enough');
    await expect(pending).rejects.toThrow('enough');
    await expect.poll(() => seen.cancelled).toBe(before.cancelled + 1);
    expect(await call(client, 'add', { a: 1, b: 1 })).toBe(2);
  });

  test('updates, changed lists and changed roots are delivered', async () => {
    const { client, updates, listChanged } = await connected(kind);
    await client.subscribeResource({ uri: 'x://y' });
    await expect.poll(() => updates).toEqual(['x://y']);
    await call(client, 'grow');
    await listChanged;
    const before = seen.rootsChanged;
    await client.sendRootsListChanged();
    await expect.poll(() => seen.rootsChanged).toBe(before + 1);
  });

  test('an error after other messages ends the call', async () => {
    const { client } = await connected(kind);
    const result = await client.callTool({ name: 'fail-late' });
    expect(result).toMatchObject({ isError: true, content: [{ text: 'failed' }] });
    await expect(client.request({ method: 'unheard/of' }, z.any())).rejects.toThrow('Method not found');
  });

  test('a stream that the server closes is resumed by the client', async () => {
    const { client } = await connected(kind);
    expect(await call(client, 'pause')).toBe(kind === 'SSE' ? 'not paused' : 'paused');
  });
});

describe.each(['Streamable HTTP', 'SSE'])('an official 2.x server, called over %s', (kind) => {
  serving(async (transport) => {
    const server = serverV2();
    servers.push(server);
    await server.connect(transport);
  });
  questions(kind);
});
