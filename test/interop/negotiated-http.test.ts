import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { connect } from '../../src/client/connect.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { httpCarrier } from '../../src/transport/http/client/http-carrier.ts';
import { SseClient } from '../../src/transport/http/client/sse-client.ts';
import { StreamableClient } from '../../src/transport/http/client/streamable-client.ts';
import { connectUpstream } from '../../src/wire/negotiate.ts';
import type { ConnectUpstreamOptions, HttpTarget, NegotiatedUpstream } from '../../src/wire/negotiation.ts';
import { TestExchange } from '../support/exchange.ts';
import { closedPort } from '../support/http-server.ts';
import { deferred } from '../support/service.ts';

/** Servers over HTTP of which only the URL is known. */

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

const info = { name: 'a server', version: '1' };
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });

async function listening(listener: Listener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function ours(eras: 'both' | 'legacy' | 'modern'): () => Promise<string> {
  return async () => {
    const server = new McpServer({ ...info, eras });
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    const input = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' }, region } } as const;
    server.tool('add', { input }, (args) => JSON.stringify((args['a'] as number) + (args['b'] as number)));
    server.tool('grow', {}, () => {
      server.tool('grown', {}, () => '');
      return '';
    });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(() => server.close());
    return url;
  };
}

function serverV1(): McpServerV1 {
  const server = new McpServerV1(info, { capabilities: { tools: { listChanged: true } } });
  server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => text(a + b));
  return server;
}

function serverV2(): McpServerV2 {
  const server = new McpServerV2(info, { capabilities: { tools: { listChanged: true } } });
  const region = z.string().optional().meta({ 'x-mcp-header': 'Region' });
  const inputSchema = z.object({ a: z.number(), b: z.number(), region });
  server.registerTool('add', { inputSchema }, ({ a, b }) => text(a + b));
  return server;
}

/** An official 1.x server as in its documentation: one transport for each session. */
function v1Sessions(): Promise<string> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let transport = sessions.get(String(request.headers['mcp-session-id']));
    if (!transport) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, made),
      });
      transport = made;
      await serverV1().connect(made);
    }
    return transport.handleRequest(request, response);
  };
  return listening((request, response) => void answer(request, response));
}

/** The same without sessions. It answers every request. */
function v1Stateless(): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await serverV1().connect(transport);
    return transport.handleRequest(request, response);
  };
  return listening((request, response) => void answer(request, response));
}

/** Only the transport of 2024-11-05, at the known URL. */
function v1Sse(): Promise<string> {
  const streams = new Map<string, SSEServerTransport>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, 'http://localhost');
    if (url.pathname === '/messages') {
      return streams.get(url.searchParams.get('sessionId')!)!.handlePostMessage(request, response);
    }
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const transport = new SSEServerTransport('/messages', response);
    streams.set(transport.sessionId, transport);
    return serverV1().connect(transport);
  };
  return listening((request, response) => void answer(request, response));
}

function v2(legacy: 'stateless' | 'reject'): () => Promise<string> {
  return async () => {
    const handler = toNodeHandler(createMcpHandler(serverV2, { legacy }));
    return listening((request, response) => void handler(request, response));
  };
}

const errors: Error[] = [];

function targetAt(address: string): HttpTarget {
  const url = new URL(address);
  const onerror = (error: Error): void => void errors.push(error);
  return {
    carrier: () => httpCarrier(url, { onerror }),
    streamable: () => new StreamableClient(url),
    sse: () => new SseClient(url),
  };
}

async function connected(address: string, options: Partial<ConnectUpstreamOptions> = {}): Promise<NegotiatedUpstream> {
  const upstream = await connectUpstream(targetAt(address), { clientInfo: { name: 'us', version: '1' }, ...options });
  onTestFinished(() => upstream.close());
  return upstream;
}

const modern = { era: 'modern', revision: '2026-07-28', route: 'streamable-http' } as const;
const streamable = { era: 'legacy', revision: '2025-11-25', route: 'streamable-http' } as const;

test.each<[string, () => Promise<string>, Partial<NegotiatedUpstream>, Partial<ConnectUpstreamOptions>]>([
  ['our server of both eras', ours('both'), modern, {}],
  ['our server of both eras, pinned to handshakes', ours('both'), streamable, { eras: 'legacy' }],
  ['our server without handshakes', ours('modern'), modern, {}],
  ['our server with handshakes only', ours('legacy'), streamable, {}],
  ['an official 1.x server with sessions', v1Sessions, streamable, {}],
  ['an official 1.x server without sessions', v1Stateless, streamable, {}],
  ['an official 1.x server over HTTP+SSE', v1Sse, { ...streamable, route: 'http+sse' }, {}],
  ['an official 2.x server of both eras', v2('stateless'), modern, {}],
  ['an official 2.x server without handshakes', v2('reject'), modern, {}],
])('%s is detected and called', async (_, start, expected, options) => {
  const upstream = await connected(await start(), options);
  expect(upstream).toMatchObject(expected);
  const exchange = new TestExchange(
    'tools/call',
    { name: 'add', arguments: { a: 2, b: 4, ...(expected.era === 'modern' ? { region: 'Zürich' } : {}) } },
    { caller: { revision: upstream.revision } },
  );
  expect(await upstream.service(exchange)).toMatchObject({ content: [{ type: 'text', text: '6' }] });
});

test('a subscription continues after its stream is lost', async () => {
  // A proxy in front of the server cuts the first stream.
  const streams: ServerResponse[] = [];
  const target = new URL(await ours('modern')());
  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _, connection: __, ...headers } = request.headers;
    const upstream = await fetch(target, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: Buffer.concat(chunks),
    });
    response.writeHead(upstream.status, Object.fromEntries(upstream.headers));
    if (request.headers['mcp-method'] === 'subscriptions/listen') streams.push(response);
    response.on('close', () => void upstream.body?.cancel().catch(() => {}));
    for await (const chunk of upstream.body!) response.write(chunk);
    response.end();
  };
  const address = await listening((request, response) => {
    relay(request, response).catch(() => response.destroy());
  });
  const client = await connect(address, { onerror: () => {} });
  onTestFinished(() => client.close());
  const heard = [deferred(), deferred()];
  let changes = 0;
  await client.subscribe({ toolsListChanged: true }, () => heard[changes++]?.resolve());
  streams[0]!.destroy();
  await heard[0]!.promise;
  await client.callTool('grow');
  await heard[1]!.promise;
  expect(changes).toBe(2);
});

test.each<[string, () => Promise<string>, string | RegExp]>([
  ['requires credentials', () => listening((_, response) => void response.writeHead(401).end()), '401'],
  ['fails', () => listening((_, response) => void response.writeHead(500).end()), '500'],
  [
    'does not speak MCP',
    () => listening((_, response) => void response.writeHead(404).end()),
    'There is no MCP server at the path of this URL',
  ],
  [
    'has another path',
    async () => {
      const server = new McpServer(info);
      const listener = await server.listen({ port: 0 });
      onTestFinished(() => listener.close());
      return listener.url.replace(/\/mcp$/, '/wrong');
    },
    /There is no MCP server at the path of this URL \(status 404\)\. The server says: Not found; the endpoint is \/mcp$/,
  ],
  ['is unreachable', async () => (await closedPort()).href, 'ECONNREFUSED'],
])('the error for a server that %s says so', async (_, start, message) => {
  await expect(connected(await start())).rejects.toThrow(message);
});
