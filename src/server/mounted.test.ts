import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse, type RequestListener } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server, type ClientHttp2Session } from 'node:http2';
import { Socket, type AddressInfo } from 'node:net';
import express from 'express';
import express4 from 'express4';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ABLE, modernHeaders, modernRequest } from '../../test/support/modern.ts';
import { bearerAuth } from '../auth/bearer.ts';
import { McpServer } from './mcp-server.ts';
import type { HttpServerOptions } from './serving.ts';

function setUp(http: HttpServerOptions = {}) {
  const errors: Error[] = [];
  const server = new McpServer({ name: 'test', version: '1', http, onerror: (error) => errors.push(error) });
  server.tool('greet', {}, () => 'Hello!');
  onTestFinished(() => server.close(0));
  return { server, errors };
}

async function around(listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

const message = modernRequest(1, 'tools/call', { name: 'greet' }, ABLE);
const post = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
const greeting = { result: { content: [{ type: 'text', text: 'Hello!' }] } };
const ALREADY_READ = 'Something in front of the MCP server has read the body';

describe('a body', () => {
  test.each([
    ['4', express4],
    ['5', express],
  ])('that a parser of Express %s leaves unread is read', async (_, framework) => {
    const { server } = setUp();
    const app = framework().use(framework.urlencoded({ extended: false }));
    const url = await around(app.all('/mcp', server.node));
    expect(await (await fetch(`${url}/mcp`, post)).json()).toMatchObject(greeting);
  });

  test('that a parser of Express 4 has read is used', async () => {
    const { server } = setUp();
    const url = await around(express4().use(express4.json()).all('/mcp', server.node));
    expect(await (await fetch(`${url}/mcp`, post)).json()).toMatchObject(greeting);
  });

  test('that something has read and not passed on is an error that says what to do', async () => {
    const { server, errors } = setUp();
    const app = express().use((request, _response, next) => {
      request.resume().once('end', () => next());
    });
    const response = await fetch(`${await around(app.all('/mcp', server.node))}/mcp`, post);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(ALREADY_READ) } });
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining('must set request.body') })]);
  });

  test('that something else also reads is an error that says what to do', async () => {
    const { server, errors } = setUp();
    const app = express().use((request, _response, next) => {
      request.on('data', () => {});
      next();
    });
    const url = await around(app.all('/mcp', server.node));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const response = await fetch(`${url}/mcp`, post);
      expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(ALREADY_READ) } });
      expect(response.status).toBe(500);
    }
    expect(errors).toHaveLength(3);
  });

  test('that a framework with Request and Response has read is an error that says what to do', async () => {
    const { server, errors } = setUp();
    const app = new Hono();
    app.use(async ({ req }, next) => {
      await req.json();
      await next();
    });
    app.all('/mcp', ({ req }) => server.fetch(req.raw));
    const response = await app.request('http://localhost/mcp', post);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(ALREADY_READ) } });
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining('clone') })]);
  });
});

describe('under a prefix', () => {
  const WELL_KNOWN = '/.well-known/oauth-protected-resource';
  const resource = 'https://mcp.example/api/mcp';
  const auth = bearerAuth({ resource, issuer: 'https://issuer.example' });

  test.each([
    ['all', (app: express.Express, { node }: McpServer) => app.all(`${WELL_KNOWN}{/*path}`, node)],
    ['use', (app: express.Express, { node }: McpServer) => app.use(WELL_KNOWN, node)],
    ['a router', (app: express.Express, { node }: McpServer) => app.use(WELL_KNOWN, express.Router().use(node))],
  ])('the metadata is found through %s in Express', async (_, mount) => {
    const { server } = setUp({ auth });
    const url = await around(mount(express(), server));
    for (const path of [WELL_KNOWN, `${WELL_KNOWN}/api/mcp`]) {
      const response = await fetch(url + path);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ resource });
    }
  });

  test('the metadata of another server is not found', async () => {
    const { server } = setUp({ auth });
    const url = await around(express().use(WELL_KNOWN, server.node));
    expect((await fetch(`${url + WELL_KNOWN}/other`)).status).toBe(404);
    expect((await server.fetch(new Request(`http://localhost${WELL_KNOWN}/other`))).status).toBe(404);
  });

  test('without authorization, there is no metadata', async () => {
    const { server } = setUp();
    expect((await server.fetch(new Request(`http://localhost${WELL_KNOWN}`))).status).toBe(404);
  });

  test('a path that only looks like the end of the metadata path is the endpoint', async () => {
    const { server } = setUp();
    const url = await around(express().use('/api', server.node));
    expect(await (await fetch(`${url}/api/.well-known/mcp`, post)).json()).toMatchObject(greeting);
  });
});

async function overHttp2(server: McpServer): Promise<ClientHttp2Session> {
  const http2 = createHttp2Server((request, response) => server.node(request as never, response as never));
  http2.listen(0, '127.0.0.1');
  await once(http2, 'listening');
  const client = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    http2.close();
  });
  return client;
}

const refused = { error: { code: -32000 } };

test.each([
  ['the authority is allowed', {}, 200, greeting],
  ['the same host is named twice', { host: 'localhost' }, 200, greeting],
  ['the authority is not allowed', { ':authority': 'evil.example' }, 403, refused],
  ['the authority and Host differ', { ':authority': 'evil.example', host: 'localhost' }, 400, refused],
])('a request of HTTP/2 gets its answer if %s', async (_, headers, status, answer) => {
  const { server } = setUp();
  const client = await overHttp2(server);
  const names = { ':authority': 'localhost', ':method': 'POST', ':path': '/mcp', ...post.headers, ...headers };
  const request = client.request(names).end(post.body);
  const [head] = await once(request, 'response');
  expect(head[':status']).toBe(status);
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  expect(JSON.parse(body)).toMatchObject(answer);
});

test('a client of HTTP/2 that reads nothing is disconnected', async () => {
  const { server } = setUp({ stallTimeout: 100 });
  const left = vi.fn<() => void>();
  server.tool('logs', {}, async (_, ctx) => {
    ctx.signal.addEventListener('abort', left);
    while (!ctx.signal.aborted) await ctx.log('error', 'x'.repeat(100_000));
    return 'done';
  });
  const client = await overHttp2(server);
  const meta = { 'io.modelcontextprotocol/logLevel': 'error' };
  const call = modernRequest(1, 'tools/call', { name: 'logs', _meta: meta }, ABLE);
  const names = { ':authority': 'localhost', ':method': 'POST', ':path': '/mcp', ...modernHeaders(call) };
  await once(client.request(names).end(JSON.stringify(call)), 'response');
  await vi.waitFor(() => expect(left).toHaveBeenCalledOnce(), 5000);
});

/** Answers a request as serverless-http does: the response has a socket of its own, which only collects what is written. */
async function answeredInMemory({ node }: McpServer): Promise<string> {
  const request = Object.assign(new IncomingMessage(new Socket()), {
    method: post.method,
    url: '/mcp',
    headers: { host: 'localhost', ...post.headers },
  });
  request.push(post.body);
  request.push(null);
  const response = new ServerResponse(request);
  let written = '';
  const ignore = (): void => {};
  response.assignSocket({
    writable: true,
    _writableState: {},
    on: ignore,
    removeListener: ignore,
    destroy: ignore,
    cork: ignore,
    uncork: ignore,
    write(data: string | Uint8Array, encoding?: unknown, done?: () => void) {
      written += String(data);
      for (const each of [encoding, done]) if (typeof each === 'function') each();
      return true;
    },
  } as never);
  node(request, response);
  await once(response, 'finish');
  return written;
}

test('a response whose socket has no timeout gets its result', async () => {
  const { server } = setUp();
  expect(await answeredInMemory(server)).toContain('Hello!');
});
