import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { garbageCollector } from '../../../../test/support/garbage-collector.ts';
import { POST_HEADERS, initialize } from '../../../../test/support/http.ts';
import { modernHeaders, modernRequest } from '../../../../test/support/modern.ts';
import { listenOnNode } from '../../../../test/support/node-server.ts';
import { deferred, scripted } from '../../../../test/support/service.ts';
import type { Service } from '../../../core/exchange.ts';
import type { Request } from '../../../jsonrpc/message.ts';
import { serve } from '../../../wire/serve.ts';
import { BufferBudget } from '../../../base/buffer-budget.ts';
import type { HttpCall } from './call.ts';
import { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from './handler.ts';
import { listen } from './listen.ts';
import { answerNode, nodeListener, type NodeRequest } from './node.ts';

interface OnNode {
  port: number;
  url: string;
  server: Server;
  handler: HttpHandler;
  /** Opens a session and returns the headers for its requests. */
  open: () => Promise<Record<string, string>>;
}

async function onNode(service: Service, options: Partial<HttpHandlerOptions> = {}): Promise<OnNode> {
  const handler = createHttpHandler({ onsession: (transport) => serve(service, transport), ...options });
  const server = createServer(nodeListener(handler));
  const port = await listenOnNode(server, handler);
  const url = `http://127.0.0.1:${port}/mcp`;
  const open = async (): Promise<Record<string, string>> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: POST_HEADERS,
      body: JSON.stringify(initialize('2025-11-25')),
    });
    await response.text();
    return { ...POST_HEADERS, 'mcp-session-id': response.headers.get('mcp-session-id')! };
  };
  return { port, url, server, handler, open };
}

const call = (id: number, method: string, params = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

/** A socket that the test writes to, and that reads nothing. */
async function socketTo(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  return socket;
}

function rawPost(headers: Record<string, string>, body: string): string {
  const head = Object.entries({ host: 'localhost', ...headers, 'content-length': String(Buffer.byteLength(body)) });
  return `POST /mcp HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

test.each([1, 8])('a body of %i MB above the limit gets 413, with or without Content-Length', async (megabytes) => {
  const { url } = await onNode(scripted().service, { maxBodyBytes: 1000 });
  const body = 'x'.repeat(megabytes * 1024 * 1024);
  const refused = await fetch(url, { method: 'POST', headers: POST_HEADERS, body });
  expect(refused.status).toBe(413);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body));
      controller.close();
    },
  });
  const withoutLength = await fetch(url, {
    method: 'POST',
    headers: POST_HEADERS,
    body: stream,
    duplex: 'half',
  });
  expect(withoutLength.status).toBe(413);
});

test('a body that ends too early opens no session and affects no other client', async () => {
  const { port, open, handler, server } = await onNode(scripted().service);
  const closed = deferred();
  server.once('connection', (socket) => socket.on('close', () => closed.resolve()));
  const socket = await socketTo(port);
  socket.write(rawPost(POST_HEADERS, JSON.stringify(initialize())).slice(0, -5));
  socket.destroy();
  await closed.promise;
  expect(handler.sessions).toBe(0);
  await open();
});

test('bodies in many chunks, split inside of characters, are read completely', async () => {
  const { url, open } = await onNode(scripted().service);
  const headers = await open();
  const body = Buffer.from(call(1, 'echo', { text: 'grüß Gott 🌍' }));
  const request = httpRequest(url, { method: 'POST', headers });
  const response = once(request, 'response');
  for (const byte of body) request.write(Buffer.from([byte]));
  request.end();
  const [message] = (await response) as [AsyncIterable<Buffer>];
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  expect(JSON.parse(Buffer.concat(chunks).toString()).result).toEqual({ params: { text: 'grüß Gott 🌍' } });
});

test('a request target with scheme and host is accepted', async () => {
  const { port, open } = await onNode(scripted().service);
  const headers = await open();
  const socket = await socketTo(port);
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.resume();
  socket.write(rawPost(headers, call(1, 'echo')).replace('POST /mcp', 'POST http://LOCALHOST/mcp'));
  await expect.poll(() => text).toContain('"id":1');
});

test('pipelined requests are answered in order', async () => {
  const { port, open } = await onNode(scripted().service);
  const headers = await open();
  const socket = await socketTo(port);
  socket.write([1, 2, 3].map((id) => rawPost(headers, call(id, 'echo'))).join(''));
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.resume();
  await expect.poll(() => [...text.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(['1', '2', '3']);
});

test('a pipelined request keeps its asynchronous context', async () => {
  const storage = new AsyncLocalStorage<string>();
  const found: unknown[] = [];
  const handler = createHttpHandler({
    onrequest(message, _extra, reply) {
      const { id } = message as Request;
      found.push([id, storage.getStore()]);
      reply!.answer({ jsonrpc: '2.0', id, result: {} });
    },
  });
  const answer = nodeListener(handler);
  const server = createServer((request, response) =>
    storage.run(`of ${String(request.headers['x-number'])}`, () => answer(request, response)),
  );
  const socket = await socketTo(await listenOnNode(server, handler));
  const asked = [1, 2, 3].map((id) => modernRequest(id, 'server/discover'));
  const posts = asked.map((message) => {
    const headers = { ...modernHeaders(message), 'x-number': String(message.id) };
    return rawPost(headers, JSON.stringify(message));
  });
  socket.write(posts.join(''));
  socket.resume();
  await expect.poll(() => found).toEqual([1, 2, 3].map((id) => [id, `of ${id}`]));
});

test('a middleware sees its own asynchronous context when a response is written', async () => {
  const storage = new AsyncLocalStorage<string>();
  const wrong: unknown[] = [];
  const all = deferred();
  let count = 0;
  const handler = createHttpHandler({
    onrequest(message, _extra, reply) {
      count += 1;
      if (count === 20) all.resolve();
      const { id } = message as Request;
      void all.promise.then(() => reply!.answer({ jsonrpc: '2.0', id, result: {} }));
    },
  });
  const answer = nodeListener(handler);
  const server = createServer((request, response) => {
    const user = String(request.headers['x-number']);
    storage.run(user, () => {
      const check = (): void => void (storage.getStore() !== user && wrong.push([user, storage.getStore()]));
      const { end } = response;
      response.end = ((...given: unknown[]) => (check(), end.apply(response, given as never))) as never;
      response.on('finish', check);
      answer(request, response);
    });
  });
  const port = await listenOnNode(server, handler);
  const message = modernRequest(1, 'server/discover');
  const asked = Array.from({ length: 20 }, async (_, user) => {
    const headers = { ...modernHeaders(message), 'x-number': String(user) };
    const init = { method: 'POST', headers, body: JSON.stringify(message) };
    return (await fetch(`http://127.0.0.1:${port}/mcp`, init)).text();
  });
  await Promise.all(asked);
  expect(wrong).toEqual([]);
});

test('a message without a session has its client’s address', async () => {
  const addresses: unknown[] = [];
  const { url } = await onNode(scripted().service, {
    onrequest: (_message, extra) => void addresses.push(extra.address),
  });
  const headers = { ...POST_HEADERS, 'mcp-protocol-version': '2026-07-28' };
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/odd' });
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(202);
  expect(addresses).toEqual(['127.0.0.1']);
});

test('pipelined requests run one after the other', async () => {
  const go = deferred();
  const work = () => go.promise.then(() => ({}));
  const { service, seen } = scripted({ work });
  const { port, open } = await onNode(service);
  const headers = await open();
  const socket = await socketTo(port);
  socket.write([1, 2, 3].map((id) => rawPost(headers, call(id, 'work'))).join(''));
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  socket.resume();
  const worked = () => seen.filter(({ method }) => method === 'work').length;
  await expect.poll(worked).toBe(1);
  // Another connection shows that the server has read all three.
  await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body: call(4, 'echo') });
  expect(worked()).toBe(1);
  go.resolve();
  await expect.poll(() => [...text.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(['1', '2', '3']);
});

test('the event loop runs between pipelined requests with large responses', async () => {
  let answered = 0;
  let atTurn = 0;
  const big = () => {
    if (answered === 0) setImmediate(() => (atTurn = answered));
    answered += 1;
    return { filler: 'x'.repeat(100_000) };
  };
  const { port, open } = await onNode(scripted({ big }).service);
  const headers = await open();
  const socket = await socketTo(port);
  socket.resume();
  socket.write(Array.from({ length: 10 }, (_, id) => rawPost(headers, call(id, 'big'))).join(''));
  await expect.poll(() => answered).toBe(10);
  expect(atTurn).toBe(1);
});

test('a client that disconnects in the middle of a stream does not cancel the request, and can resume', async () => {
  const go = deferred();
  const { service, seen } = scripted({
    work: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'one' });
      await go.promise;
      return { done: true };
    },
  });
  const { url, open } = await onNode(service);
  const headers = await open();
  const controller = new AbortController();
  const response = await fetch(url, { method: 'POST', headers, body: call(1, 'work'), signal: controller.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const first = (await reader.read()).value!;
  controller.abort();
  go.resolve();
  await expect.poll(() => seen.length).toBe(2);
  expect(seen[1]!.signal.aborted).toBe(false);
  const id = /^id: (.*)$/m.exec(first)![1]!;
  const resumed = await fetch(url, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': id } });
  const text = await resumed.text();
  expect(text).toContain('"data":"one"');
  expect(text).toContain('"done":true');
});

test.each([
  ['JSON', { big: () => ({ filler: 'x'.repeat(3_000_000) }) }],
  [
    'an event stream',
    {
      big: async (exchange: { notify: (method: string, params: object) => Promise<void> }) => {
        await exchange.notify('notifications/message', { level: 'info', data: 1 });
        return { filler: 'x'.repeat(3_000_000) };
      },
    },
  ],
])('a client that requests a lot as %s and reads nothing is disconnected', async (_, methods) => {
  const { port, open, server, handler } = await onNode(scripted(methods).service, { stallTimeout: 100, keepAlive: 0 });
  const headers = await open();
  const closed = deferred();
  server.once('connection', (socket) => socket.on('close', () => closed.resolve()));
  const socket = await socketTo(port);
  for (let id = 1; id <= 5; id += 1) socket.write(rawPost(headers, call(id, 'big')));
  await closed.promise;
  expect(handler.sessions).toBe(1);
});

test('a slow but steady reader is not disconnected, however large the event', async () => {
  const big = async (exchange: { notify: (method: string, params: object) => Promise<void> }) => {
    await exchange.notify('notifications/message', { level: 'info', data: 1 });
    return { filler: 'x'.repeat(20_000_000) };
  };
  const { port, open } = await onNode(scripted({ big }).service, { stallTimeout: 1000, keepAlive: 0 });
  const headers = await open();
  const socket = await socketTo(port);
  let read = 0;
  const started = performance.now();
  const done = new Promise<void>((resolve, reject) => {
    socket.on('close', () => reject(new Error(`cut off after ${read} bytes`)));
    socket.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (chunk.includes('\r\n0\r\n')) return resolve();
      // Slower in total than the stall timeout, but never silent for that long.
      socket.pause();
      setTimeout(() => socket.resume(), 5);
    });
  });
  socket.write(rawPost(headers, call(1, 'big')));
  socket.resume();
  await done;
  expect(read).toBeGreaterThan(20_000_000);
  expect(performance.now() - started).toBeGreaterThan(1000);
  socket.destroy();
});

/** Ends the head of a request, and asks to close the connection. */
const CLOSE = 'connection: close\r\n\r\n';

test.each([
  ['text that is not HTTP', 'hello\r\n\r\n', '400'],
  ['a request without a Host', 'POST /mcp HTTP/1.1\r\n\r\n', '400'],
  ['a head that never ends', `GET /mcp HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`, '431'],
  [
    'a request with two Host headers',
    `GET /other HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n${CLOSE}`,
    '400',
  ],
  ['a request with an empty Host', `GET /other HTTP/1.1\r\nhost:\r\n${CLOSE}`, '400'],
  ['a request for another host', `GET http://evil.example/other HTTP/1.1\r\nhost: localhost\r\n${CLOSE}`, '400'],
  [
    'a request with two lengths',
    'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    '400',
  ],
])('%s is refused and the connection is closed', async (_, text, status) => {
  const listener = await listen({ port: 0, onsession: (transport) => serve(scripted().service, transport) });
  onTestFinished(() => listener.close());
  const socket = await socketTo(listener.port);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk));
  socket.resume();
  socket.write(text);
  await once(socket, 'close');
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test('closing a listener ends its streams and frees its port', async () => {
  const listener = await listen({ port: 0, onsession: (transport) => serve(scripted().service, transport) });
  const opened = await fetch(listener.url, {
    method: 'POST',
    headers: POST_HEADERS,
    body: JSON.stringify(initialize()),
  });
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id')!, accept: 'text/event-stream' };
  const stream = await fetch(listener.url, { headers });
  const sse = await fetch(listener.sseUrl!, { headers: { accept: 'text/event-stream' } });
  await listener.close();
  await stream.text();
  await sse.text();
  const again = await listen({ port: listener.port, onsession: () => {} });
  await expect(listen({ port: listener.port, onsession: () => {} })).rejects.toThrow('already in use');
  await again.close();
});

test('closing a listener lets a slow reader finish reading', async () => {
  const big = scripted({ big: () => ({ filler: 'x'.repeat(12_000_000) }) });
  const listener = await listen({ port: 0, onsession: (transport) => serve(big.service, transport) });
  const opened = await fetch(listener.url, {
    method: 'POST',
    headers: POST_HEADERS,
    body: JSON.stringify(initialize()),
  });
  const headers = { ...POST_HEADERS, 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  await opened.text();
  const response = await fetch(listener.url, { method: 'POST', headers, body: call(1, 'big') });
  const closed = listener.close();
  expect((await response.text()).length).toBeGreaterThan(12_000_000);
  await closed;
});

test('a request in progress does not keep the bytes of its body', async () => {
  const collect = garbageCollector();
  const calls: HttpCall[] = [];
  const read = deferred<WeakRef<Uint8Array>>();
  const handle = (taken: HttpCall): void => {
    calls.push(taken);
    void taken.readBody(1024, undefined).then((body) => read.resolve(new WeakRef(body as Uint8Array)));
  };
  function* chunks(): Generator<Buffer> {
    yield Buffer.from('{}');
  }
  const request = Object.assign(Readable.from(chunks()), { headers: {} });
  const handler = { handle, budget: new BufferBudget(1024) } as unknown as HttpHandler;
  answerNode(handler)(request as unknown as NodeRequest, {} as ServerResponse);
  const bytes = await read.promise;
  await vi.waitFor(() => {
    collect();
    expect(bytes.deref() === undefined).toBe(true);
  });
  expect(calls).toHaveLength(1);
});
