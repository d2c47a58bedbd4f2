import { PassThrough } from 'node:stream';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Events, POST_HEADERS } from '../../test/support/http.ts';
import { linesOf } from '../../test/support/lines.ts';
import { ABLE, modernHeaders, modernRequest } from '../../test/support/modern.ts';
import { aborted, deferred } from '../../test/support/service.ts';
import { apiKeyAuth } from '../auth/api-key.ts';
import type { JsonObject, Message } from '../jsonrpc/message.ts';
import { memoryState } from '../store/state.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { McpServer } from './mcp-server.ts';
import type { Context } from './context.ts';

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

test('a server can serve any number of connections at once', async () => {
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

test('over stdio, the server answers requests that came before the end of input', async () => {
  const { server, errors } = setUp();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const over = server.stdio({ stdin, stdout });
  stdin.end([initialize, initialized, call].map((message) => `${JSON.stringify(message)}\n`).join(''));
  const lines: unknown[] = [];
  const reading = (async () => {
    for await (const line of linesOf(stdout)) lines.push(JSON.parse(line));
  })();
  await over;
  stdout.end();
  await reading;
  expect(lines).toEqual([expect.objectContaining({ id: 1 }), answer]);
  expect(errors).toEqual([]);
});

test('over HTTP, the server listens on a port', async () => {
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

test('a listener is closed at the end of its block', async () => {
  const { server } = setUp();
  let url: string;
  {
    await using listener = await server.listen({ port: 0 });
    ({ url } = listener);
    expect((await fetch(url)).status).toBeGreaterThan(0);
  }
  await expect(fetch(url)).rejects.toThrow('fetch failed');
});

test('a port that is in use causes an error', async () => {
  const { server } = setUp();
  const listener = await server.listen({ port: 0 });
  await expect(server.listen({ port: listener.port })).rejects.toThrow('already in use');
  await listener.close();
});

test('connect() fails if the connection cannot be opened', async () => {
  const { server } = setUp();
  const broken: Transport = {
    start: () => Promise.reject(new Error('no such port')),
    send: () => Promise.resolve(),
    close: () => Promise.reject(new Error('never opened')),
  };
  await expect(server.connect(broken)).rejects.toThrow('no such port');
  await server.close();
});

/** A server whose tools return the caller, wait until released, ask, or never return. */
function modernServer(options: JsonObject = {}) {
  const errors: Error[] = [];
  const signals: AbortSignal[] = [];
  const go = deferred();
  const server = new McpServer({ name: 'test', version: '1', onerror: (error) => errors.push(error), ...options });
  server.tool('who', {}, (_, { caller }) => `${caller.clientInfo?.name} ${caller.principal}`);
  server.tool('work', {}, () => go.promise.then(() => 'done'));
  server.tool('ask', {}, async (_, ctx: Context) => JSON.stringify(await ctx.roots()));
  server.tool('hang', {}, async (_, ctx) => {
    signals.push(ctx.signal);
    await ctx.progress(1);
    return new Promise<string>(() => {});
  });
  onTestFinished(() => server.close(0));
  return { server, errors, signals, go };
}

const ADA = { principal: 'ada', scopes: [] };

const callOf = (name: string, params: JsonObject = {}, id = 1) =>
  modernRequest(id, 'tools/call', { name, ...params }, ABLE);

function postTo(url: string, message: ReturnType<typeof callOf>, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message), ...init });
}

const textIn = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { result: { content: { text: string }[] } }).result.content[0]?.text;

/** A plain node:http server around a listener, on its own port. */
async function around(listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

describe('without sessions, a server can be mounted', () => {
  test('as a fetch function, which passes on the caller', async () => {
    const { server } = modernServer();
    const message = callOf('who');
    const request = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
    for (const path of ['/mcp', '/', '/any/where']) {
      const response = await server.fetch(new Request(`http://localhost${path}`, request), { authInfo: ADA });
      expect(await textIn(response)).toBe('test ada');
    }
  });

  test('in a bare server of node:http', async () => {
    const { server } = modernServer();
    const url = await around((request, response) =>
      server.node(Object.assign(request, { principal: 'ada' }), response),
    );
    expect(await textIn(await postTo(url, callOf('who')))).toBe('test ada');
  });

  test.each([
    ['nothing', (app: express.Express) => app],
    ['JSON', (app: express.Express) => app.use(express.json())],
    ['text', (app: express.Express) => app.use(express.text({ type: '*/*' }))],
    ['bytes', (app: express.Express) => app.use(express.raw({ type: '*/*' }))],
  ])('in Express, which has read the body as %s', async (_, read) => {
    const { server, errors } = modernServer();
    const url = await around(read(express()).all('/mcp', server.node));
    expect(await textIn(await postTo(url, callOf('who')))).toBe('test undefined');
    const batch = await postTo(url, callOf('who'), { body: '[]' });
    expect(batch.status).toBe(400);
    expect(errors).toEqual([]);
  });

  test('in Express, which has decompressed a body', async () => {
    const { server } = modernServer();
    const url = await around(express().use(express.json()).all('/mcp', server.node));
    const message = callOf('who');
    const headers = { ...POST_HEADERS, ...modernHeaders(message), 'content-encoding': 'gzip' };
    const response = await fetch(url, { method: 'POST', headers, body: gzipSync(JSON.stringify(message)) });
    expect(await textIn(response)).toBe('test undefined');
  });

  test('in Express, and the size limit also applies to a body that was already read', async () => {
    const { server } = modernServer({ http: { maxBodyBytes: 1000 } });
    const url = await around(
      express()
        .use(express.json({ limit: '1mb' }))
        .all('/mcp', server.node),
    );
    expect((await postTo(url, callOf('who', { filler: 'x'.repeat(1000) }))).status).toBe(413);
    expect((await postTo(url, callOf('who'))).status).toBe(200);
  });

  test('in Fastify, which has read the body', async () => {
    const { server } = modernServer();
    const app = fastify();
    app.all('/mcp', (request, reply) => {
      reply.hijack();
      server.node(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    onTestFinished(() => app.close());
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`;
    expect(await textIn(await postTo(url, callOf('who')))).toBe('test undefined');
  });

  test('in a server of node:http, and a connection is not read beyond 100 unanswered requests, the first of all included', async () => {
    const { server } = modernServer();
    let requests = 0;
    const url = await around((request, response) => {
      requests += 1;
      server.node(request, response);
    });
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    const ended = once(socket, 'close');
    let last = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (last = chunk));
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(100_000));
    await ended;
    expect(last).toContain('HTTP/1.1 503');
    // What Node had read before it stopped. It read all 100,000 before, and kept them until they were answered.
    expect(requests).toBeGreaterThan(100);
    expect(requests).toBeLessThan(10_000);
  });

  test('in Express, which has read the body, and a connection is read on after pipelined requests', async () => {
    const { server } = modernServer();
    const url = new URL(await around(express().use(express.json()).all('/mcp', server.node)));
    const socket = connect(Number(url.port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    const body = JSON.stringify(callOf('who'));
    const headers = {
      host: 'localhost',
      ...POST_HEADERS,
      ...modernHeaders(callOf('who')),
      'content-length': body.length,
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const post = `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
    for (const sent of [3, 1]) {
      received = '';
      socket.write(post.repeat(sent));
      await expect.poll(() => received.match(/HTTP\/1\.1 200/g)).toHaveLength(sent);
    }
  });

  test('in Hono', async () => {
    const { server } = modernServer();
    const app = new Hono();
    app.all('/mcp', ({ req }) => server.fetch(req.raw, { authInfo: ADA }));
    const message = callOf('who');
    const request = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
    expect(await textIn(await app.request('http://localhost/mcp', request))).toBe('test ada');
  });

  test('twice, and a request suspended in one place can continue in the other', async () => {
    const { server } = modernServer();
    const url = await around((request: IncomingMessage, response: ServerResponse) => server.node(request, response));
    const { result } = (await (await postTo(url, callOf('ask'))).json()) as { result: JsonObject };
    const { inputRequests, requestState } = result;
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { roots: [] }]));
    const message = callOf('ask', { requestState, inputResponses });
    const request = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
    expect(await textIn(await server.fetch(new Request('http://localhost/mcp', request)))).toBe('[]');
  });
});

describe('close()', () => {
  test('closes a connection whose first request is still opening it', async () => {
    const { server } = modernServer();
    const message = callOf('who');
    const ask = (): Promise<Response> =>
      server.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: modernHeaders(message),
          body: JSON.stringify(message),
        }),
      );
    const first = ask();
    await server.close();
    await (await first).text();
    expect((await ask()).status).toBe(503);
  });

  test('refuses new requests, finishes those in flight, and frees the port', async () => {
    const { server, go, errors } = modernServer();
    const { url, port } = await server.listen({ port: 0 });
    const working = postTo(url, callOf('work'));
    const listening = new Events(await postTo(url, modernRequest(2, 'subscriptions/listen', { notifications: {} })));
    expect(await listening.message()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    const closing = server.close(5000);
    expect(await listening.message()).toMatchObject({ id: 2, result: { resultType: 'complete' } });
    expect(await listening.next()).toBeUndefined();
    const late = await postTo(url, callOf('who')).catch((error: Error) => error);
    expect(late instanceof Error || late.status === 503).toBe(true);
    go.resolve();
    const text = await (await working).text();
    expect(text).toContain('done');
    await closing;
    await modernServer().server.listen({ port });
    expect(errors).toEqual([]);
  });

  test('aborts handlers that are still running after its timeout', async () => {
    const { server, signals } = modernServer();
    const { url } = await server.listen({ port: 0 });
    const response = await postTo(url, callOf('hang', { _meta: { progressToken: 'p' } }));
    const started = performance.now();
    await server.close(200);
    expect(performance.now() - started).toBeLessThan(2000);
    expect(await response.text()).toContain('shutting down');
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
  });

  test('ends suspended requests', async () => {
    const { server } = modernServer();
    const ended = deferred();
    server.tool('wait', {}, async (_, ctx) => {
      void aborted(ctx.signal).then(ended.resolve);
      return JSON.stringify(await ctx.roots());
    });
    const { url } = await server.listen({ port: 0 });
    expect(await (await postTo(url, callOf('wait'))).text()).toContain('input_required');
    await server.close(5000);
    await ended.promise;
  });

  test('makes a mount answer with 503 from then on', async () => {
    const { server } = modernServer();
    const message = callOf('who');
    const request = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
    const send = () => server.fetch(new Request('http://localhost/mcp', request));
    expect((await send()).status).toBe(200);
    await server.close(0);
    expect((await send()).status).toBe(503);
  });
});

test('a closed connection ends its suspended requests', async () => {
  const { server } = modernServer();
  const ended = deferred();
  server.tool('wait', {}, async (_, ctx) => {
    void aborted(ctx.signal).then(ended.resolve);
    return JSON.stringify(await ctx.roots());
  });
  const [ours, theirs] = memoryTransportPair();
  await server.connect(ours);
  const asked = new Promise<Message>((resolve) => (theirs.onmessage = resolve));
  await theirs.start();
  await theirs.send(callOf('wait'));
  expect(await asked).toMatchObject({ result: { resultType: 'input_required' } });
  await theirs.close();
  await ended.promise;
});

test('over stdio, a server without sessions answers requests that came before the end of input', async () => {
  const { server, errors, go } = modernServer();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const over = server.stdio({ stdin, stdout });
  const messages = [callOf('who', {}, 1), callOf('work', {}, 2), callOf('ask', {}, 3)];
  stdin.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  stdin.once('end', () => go.resolve());
  const lines: unknown[] = [];
  const reading = (async () => {
    for await (const line of linesOf(stdout)) lines.push(JSON.parse(line));
  })();
  await over;
  stdout.end();
  await reading;
  expect(lines.map((line) => (line as { id: number }).id).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  expect(errors).toEqual([]);
});

test('a closed server serves nobody', async () => {
  const server = new McpServer({ name: 'closed', version: '1' });
  await server.close();
  await expect(server.listen({ port: 0 })).rejects.toThrow('has been closed');
  await expect(server.connect(memoryTransportPair()[0])).rejects.toThrow('has been closed');
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: POST_HEADERS, body: '{}' });
  expect((await server.fetch(request)).status).toBe(503);
});

test('a server that is closed while it starts to listen does not listen', async () => {
  const server = new McpServer({ name: 'closed', version: '1' });
  const listening = server.listen({ port: 0 });
  await server.close();
  await expect(listening).rejects.toThrow('has been closed');
});

test('an undefined option of listen keeps the option of the server', async () => {
  const auth = apiKeyAuth({ keys: { 'key-of-ada-0123456789': 'ada' } });
  const server = new McpServer({ name: 'guarded', version: '1', http: { auth } });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0, auth: undefined });
  const body = JSON.stringify(initialize);
  expect((await fetch(url, { method: 'POST', headers: POST_HEADERS, body })).status).toBe(401);
});

test('a server that could not listen may listen with another state', async () => {
  const other = new McpServer({ name: 'other', version: '1' });
  const server = new McpServer({ name: 'stored', version: '1' });
  onTestFinished(async () => {
    await other.close();
    await server.close();
  });
  const { port } = await other.listen({ port: 0 });
  await expect(server.listen({ port, state: memoryState() })).rejects.toThrow('already in use');
  await server.listen({ port: 0, state: memoryState() });
});
