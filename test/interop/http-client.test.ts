import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport, type EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { encodeHeaderValue } from '../../src/protocol/header-value.ts';
import { Meta } from '../../src/protocol/methods.ts';
import { httpCarrier } from '../../src/transport/http/client/http-carrier.ts';
import { SseClient } from '../../src/transport/http/client/sse-client.ts';
import { StreamableClient } from '../../src/transport/http/client/streamable-client.ts';
import { connectLegacy } from '../../src/wire/legacy/outbound/outbound.ts';
import type { Upstream } from '../../src/wire/upstream.ts';
import { TestExchange, type TestExchangeOptions } from '../support/exchange.ts';
import { featureServer } from '../support/features.ts';
import { closedPort } from '../support/http-server.ts';
import { root, startNode } from '../support/process.ts';
import { Lifetime } from '../../src/base/lifetime.ts';

/** Our client transports against servers of all kinds. */

interface Place {
  readonly url: string;
  readonly sseUrl?: string;
  readonly stop: () => Promise<unknown>;
}

const CAPABILITIES = { sampling: {}, elicitation: {}, roots: {} };
const ANSWERS: Record<string, object> = {
  'sampling/createMessage': { model: 'm', role: 'assistant', content: { type: 'text', text: 'a sampled text' } },
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'roots/list': { roots: [{ uri: 'file:///home' }] },
};

async function connected(transport: StreamableClient | SseClient): Promise<{ upstream: Upstream; errors: Error[] }> {
  const errors: Error[] = [];
  const upstream = await connectLegacy(transport, {
    clientInfo: { name: 'interop', version: '1.0.0' },
    capabilities: CAPABILITIES,
    onerror: (error) => void errors.push(error),
  });
  onTestFinished(() => upstream.close());
  return { upstream, errors };
}

function call(name: string, args: object = {}, options: TestExchangeOptions = {}): TestExchange {
  const onask = (method: string): object => ANSWERS[method]!;
  const params = { name, arguments: args, _meta: { [Meta.ProgressToken]: 'token' } };
  return new TestExchange('tools/call', params, { onask, ...options });
}

async function texts({ service }: Upstream, exchange: TestExchange): Promise<string> {
  const { content } = await service(exchange);
  return content.map(({ text }: { text: string }) => text).join('\n');
}

/** Keeps events in order. The store of the official examples mixes up events of the same millisecond. */
function eventStore(): EventStore {
  const events: { streamId: string; message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  return {
    storeEvent: (streamId, message) => Promise.resolve(String(events.push({ streamId, message }))),
    getStreamIdForEventId: (id) => Promise.resolve(events[Number(id) - 1]?.streamId),
    replayEventsAfter: async (id, { send }) => {
      const { streamId } = events[Number(id) - 1]!;
      for (const [at, event] of events.entries()) {
        // A priming event has nothing to repeat.
        if (at < Number(id) || event.streamId !== streamId || !('jsonrpc' in event.message)) continue;
        await send(String(at + 1), event.message);
      }
      return streamId;
    },
  };
}

/** Official servers, one for each session. */
function official(mcp: () => McpServerV1 | McpServerV2, major: 1 | 2): Promise<Place> {
  const sessions = new Map<string, StreamableHTTPServerTransport | NodeStreamableHTTPServerTransport>();
  const streams = new Map<string, SSEServerTransport>();
  const Transport = (
    major === 1 ? StreamableHTTPServerTransport : NodeStreamableHTTPServerTransport
  ) as typeof StreamableHTTPServerTransport;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, 'http://localhost');
    if (url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response);
      streams.set(transport.sessionId, transport);
      return mcp().connect(transport);
    }
    if (url.pathname === '/messages') {
      return streams.get(url.searchParams.get('sessionId')!)!.handlePostMessage(request, response);
    }
    const id = request.headers['mcp-session-id'] as string | undefined;
    const known = id === undefined ? undefined : sessions.get(id);
    if (id !== undefined && !known) return void response.writeHead(404).end();
    if (known) return known.handleRequest(request, response);
    const transport = new Transport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: eventStore(),
      retryInterval: 50,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await mcp().connect(transport);
    return transport.handleRequest(request, response);
  };
  return listening((request, response) => void answer(request, response));
}

async function listening(listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<Place> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { url: `${origin}/mcp`, sseUrl: `${origin}/sse`, stop };
}

function modern(): Promise<Place> {
  const handler = toNodeHandler(createMcpHandler(() => serverV2()));
  return listening((request, response) => void handler(request, response));
}

const info = { name: 'official', version: '1' };
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const sampling = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }],
  maxTokens: 5,
};

function serverV1(): McpServerV1 {
  const mcp = new McpServerV1(info, { capabilities: { logging: {}, tools: { listChanged: true } } });
  mcp.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => text(a + b));
  mcp.registerTool('sample', {}, async () => text(await mcp.server.createMessage(sampling)));
  mcp.registerTool('grow', {}, () => {
    mcp.registerTool(`tool-${Math.random()}`, {}, () => text(0));
    return text('grown');
  });
  mcp.registerTool('pause', {}, async ({ closeSSEStream, sendNotification }) => {
    closeSSEStream?.();
    await sendNotification({ method: 'notifications/message', params: { level: 'error', data: 'while away' } });
    return text(closeSSEStream ? 'paused' : 'not paused');
  });
  return mcp;
}

function serverV2(): McpServerV2 {
  const mcp = new McpServerV2(info, { capabilities: { tools: { listChanged: true } } });
  mcp.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => text(a + b));
  mcp.registerTool('sample', {}, async () => text(await mcp.server.createMessage(sampling)));
  mcp.registerTool('grow', {}, () => {
    mcp.registerTool(`tool-${Math.random()}`, {}, () => text(0));
    return text('grown');
  });
  return mcp;
}

const places: [name: string, start: () => Promise<Place>, transports: ('http' | 'sse')[]][] = [
  [
    'our server',
    async () => {
      const server = featureServer();
      const { url, sseUrl } = await server.listen({ port: 0 });
      return { url, sseUrl: sseUrl!, stop: () => server.close() };
    },
    ['http', 'sse'],
  ],
  ['an official 1.x server', () => official(serverV1, 1), ['http', 'sse']],
  ['an official 2.x server', () => official(serverV2, 2), ['http']],
];
const cases = places.flatMap(([name, start, transports]) => transports.map((kind) => [name, kind, start] as const));

describe.each(cases)('%s over %s', (name, kind, start) => {
  let place: Place;
  beforeAll(async () => {
    place = await start();
  });
  afterAll(() => place.stop());
  const open = (): StreamableClient | SseClient =>
    kind === 'http' ? new StreamableClient(new URL(place.url)) : new SseClient(new URL(place.sseUrl!));

  test('answers calls, one by one and all at once', async () => {
    const { upstream, errors } = await connected(open());
    expect(await texts(upstream, call('add', { a: 2, b: 4 }))).toContain('6');
    const sums = await Promise.all(
      Array.from({ length: 50 }, (_, n) => texts(upstream, call('add', { a: n, b: 1000 }))),
    );
    for (const [n, sum] of sums.entries()) expect(sum).toContain(String(n + 1000));
    expect(errors).toEqual([]);
  });

  test('asks during a call', async () => {
    const { upstream, errors } = await connected(open());
    const exchange = call('sample', { prompt: 'hi' });
    expect(await texts(upstream, exchange)).toContain('a sampled text');
    expect(exchange.asked.map(({ method }) => method)).toEqual(['sampling/createMessage']);
    expect(errors).toEqual([]);
  });

  // On the single stream of HTTP+SSE nothing says whose a question is, and these servers ask on the session's stream.
  // oxlint-disable-next-line vitest/no-conditional-tests -- a skipped test would want a reason printed
  if (kind === 'http' && name === 'our server') {
    test('asks the client that made the call', async () => {
      const { upstream } = await connected(open());
      const calls = ['Ada', 'Grace', 'Alan'].map((who) => {
        const content = { type: 'text', text: `sampled by ${who}` };
        const onask = (): object => ({ model: 'm', role: 'assistant', content });
        return [who, call('sample', { prompt: 'hi' }, { onask })] as const;
      });
      const answers = await Promise.all(calls.map(([, exchange]) => texts(upstream, exchange)));
      for (const [n, [who]] of calls.entries()) expect(answers[n]).toContain(`sampled by ${who}`);
    });
  }

  test('notifies of changed tools', async () => {
    const { upstream } = await connected(open());
    const listener = new TestExchange('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const ended = upstream.service(listener);
    await vi.waitUntil(() => listener.notified.length === 1);
    await texts(upstream, call('grow', { name: `grown-${kind}-${name.length}` }));
    await vi.waitUntil(() => listener.notified.some(({ method }) => method.endsWith('tools/list_changed')));
    listener.abort();
    await ended;
  });

  test('notices that its client has disconnected', async () => {
    const transport = open();
    const { upstream } = await connected(transport);
    await texts(upstream, call('add', { a: 1, b: 1 }));
    const id = transport instanceof StreamableClient ? transport.sessionId : undefined;
    await upstream.close();
    expect(upstream.closed).toBe(true);
    if (id === undefined) return;
    const headers = {
      'mcp-session-id': id,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect((await fetch(place.url, { method: 'POST', headers, body })).ok).toBe(false);
  });
});

test('if an official 1.x server closes the stream of a call, the response arrives on the next stream', async () => {
  const place = await official(serverV1, 1);
  onTestFinished(async () => void (await place.stop()));
  const { upstream, errors } = await connected(new StreamableClient(new URL(place.url)));
  const exchange = call('pause');
  expect(await texts(upstream, exchange)).toBe('"paused"');
  expect(exchange.notified).toContainEqual(
    expect.objectContaining({ params: expect.objectContaining({ data: 'while away' }) }),
  );
  expect(errors).toEqual([]);
});

describe.each([
  ['streamableHttp', '/mcp'],
  ['sse', '/sse'],
])('server-everything over %s', (kind, path) => {
  test('answers calls and reports progress', async () => {
    const { port } = await closedPort();
    const index = `${root}node_modules/@modelcontextprotocol/server-everything/dist/index.js`;
    const server = startNode([index, kind], { PORT: port });
    onTestFinished(async () => void (await server.stop()));
    await server.line(/port \d+/);
    const url = new URL(path, `http://127.0.0.1:${port}`);
    const { upstream, errors } = await connected(kind === 'sse' ? new SseClient(url) : new StreamableClient(url));
    expect(await texts(upstream, call('get-sum', { a: 2, b: 40 }))).toContain('42');
    const long = call('trigger-long-running-operation', { duration: 0.2, steps: 4 });
    expect(await texts(upstream, long)).toContain('completed');
    expect(long.notified.filter(({ method }) => method === 'notifications/progress')).toHaveLength(4);
    expect(errors).toEqual([]);
  });
});

describe.each<[string, () => Promise<Place>]>([
  places[0]!.slice(0, 2) as [string, () => Promise<Place>],
  ['an official 2.x server', () => modern()],
])('%s without a session', (_, start) => {
  test('answers calls', async () => {
    const place = await start();
    onTestFinished(async () => void (await place.stop()));
    const carrier = httpCarrier(new URL(place.url));
    onTestFinished(() => carrier.close());
    const send = (method: string, params: Record<string, any>, name?: string) =>
      carrier.request({
        method,
        params: {
          ...params,
          _meta: {
            [Meta.ProtocolVersion]: '2026-07-28',
            [Meta.ClientInfo]: { name: 'interop', version: '1.0.0' },
            [Meta.ClientCapabilities]: {},
          },
        },
        headers: {
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...(name === undefined ? {} : { 'mcp-name': encodeHeaderValue(name) }),
        },
        lifetime: new Lifetime(),
        onnotification: () => {},
      });
    expect(await send('server/discover', {})).toMatchObject({
      result: { supportedVersions: expect.arrayContaining(['2026-07-28']) },
    });
    const sums = Array.from({ length: 50 }, (__, n) =>
      send('tools/call', { name: 'add', arguments: { a: n, b: 1000 } }, 'add'),
    );
    for (const [n, answer] of (await Promise.all(sums)).entries()) {
      expect(answer).toMatchObject({ result: { content: [{ text: expect.stringContaining(String(n + 1000)) }] } });
    }
    // The header names another tool than the body.
    expect(await send('tools/call', { name: 'add', arguments: {} }, 'other')).toMatchObject({
      error: { code: -32020 },
    });
  });
});
