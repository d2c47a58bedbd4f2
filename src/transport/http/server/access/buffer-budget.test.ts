import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { initialize, POST_HEADERS, TestHttp } from '../../../../../test/support/http.ts';
import { ModernHttp, modernHeaders, modernRequest } from '../../../../../test/support/modern.ts';
import { deferred, scripted } from '../../../../../test/support/service.ts';
import { apiKeyAuth } from '../../../../auth/api-key.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import type { JsonObject } from '../../../../jsonrpc/message.ts';
import { createInbound } from '../../../../wire/serve.ts';
import type { Authenticator } from './authenticator.ts';
import type { HttpHandler, HttpHandlerOptions } from '../handler.ts';
import { listen } from '../listen.ts';

const MB = 1024 * 1024;
/** Three quarters of the limit are for what is not in the event log. */
const BOUND = 8 * MB;

interface LimitedServer {
  readonly handler: HttpHandler;
  readonly seen: Exchange[];
  /** A connection that reads nothing. */
  open(): Promise<Socket>;
  post(socket: Socket, body: string, headers?: Record<string, string>): void;
  /** The status of a call by another client, which reads the response. */
  call(): Promise<number>;
  session(): Promise<string>;
}

/** A server with a small limit, whose method `big` returns four megabytes. */
async function limitedServer(
  options: Partial<HttpHandlerOptions> & { big?: () => Promise<JsonObject> } = {},
): Promise<LimitedServer> {
  const filler = 'x'.repeat(4 * MB);
  const { service, seen } = scripted({
    big: options.big ?? (() => ({ filler })),
    // More than the kernel takes for a client that does not read.
    notice: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'x'.repeat(7 * MB) });
      return { filler };
    },
  });
  const { onsession, onrequest } = createInbound(service);
  const bounds = { maxBufferedBytes: BOUND, stallTimeout: 600_000, keepAlive: 0, ...options };
  const listener = await listen({ port: 0, onsession, onrequest, ...bounds });
  onTestFinished(() => listener.close(0));
  const { handler, port, url } = listener;
  return {
    handler,
    seen,
    open: async () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      return socket.pause();
    },
    post: (socket, body, headers = {}) =>
      void socket.write(postText('/mcp', { 'content-length': String(body.length), ...headers }, body)),
    call: async () => {
      const message = modernRequest('honest', 'big');
      const response = await fetch(url, {
        method: 'POST',
        headers: modernHeaders(message),
        body: JSON.stringify(message),
      });
      expect(await response.text()).toContain('"id":"honest"');
      return response.status;
    },
    session: async () => {
      const response = await fetch(url, { method: 'POST', headers: POST_HEADERS, body: JSON.stringify(initialize()) });
      await response.text();
      return response.headers.get('mcp-session-id')!;
    },
  };
}

function postText(path: string, headers: Record<string, string>, body = ''): string {
  const lines = Object.entries({ host: 'localhost', ...POST_HEADERS, ...headers });
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

function get(path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ host: 'localhost', accept: 'text/event-stream', ...headers });
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Resolves when the other side has closed the given number of sockets. */
async function closed(sockets: readonly Socket[], count: number): Promise<void> {
  await vi.waitFor(() => expect(sockets.filter(({ destroyed }) => destroyed).length).toBeGreaterThanOrEqual(count));
}

const big = JSON.stringify(modernRequest(1, 'big'));
const headers = modernHeaders(modernRequest(1, 'big'));

test('if connections never read, few of their pipelined calls run, and the first connections are closed', async () => {
  const { handler, seen, open, post, call } = await limitedServer();
  const sockets: Socket[] = [];
  for (let n = 0; n < 12; n += 1) {
    const socket = await open();
    sockets.push(socket);
    for (let each = 0; each < 99; each += 1) post(socket, big, headers);
  }
  await vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(12));
  expect(await call()).toBe(200);
  expect(handler.bufferedBytes).toBeLessThanOrEqual(BOUND);
  expect(seen.length).toBeLessThan(12 * 10);
  // Only a reader notices that its connection was closed.
  for (const socket of sockets) socket.resume();
  await closed(sockets, 8);
  expect(await call()).toBe(200);
});

test.each([
  ['JSON', 600_000],
  ['a stream', 0],
])(
  'a large response as %s is counted before the next one is built, even in one turn of the event loop',
  async (_, grace) => {
    const counted: number[] = [];
    const done = deferred();
    const { handler, seen, open, post } = await limitedServer({
      maxBufferedBytes: 256 * MB,
      grace,
      big: async () => {
        await done.promise;
        const filler = 'x'.repeat(16 * MB);
        return { filler: { toJSON: () => (counted.push(handler.bufferedBytes), filler) } };
      },
    });
    for (let n = 0; n < 3; n += 1) post(await open(), big, headers);
    await vi.waitFor(() => expect(seen).toHaveLength(3));
    await vi.waitFor(() => expect(handler.streams).toBe(grace === 0 ? 3 : 0));
    done.resolve();
    await vi.waitFor(() => expect(counted).toHaveLength(3));
    expect(counted[2]! - counted[0]!).toBeGreaterThan(16 * MB);
  },
);

/** Opens an HTTP+SSE session that reads nothing. Its messages go out on the socket `posts`. */
async function openSse({ open }: LimitedServer, posts: Socket): Promise<(message: object) => void> {
  const stream = await open();
  stream.write(get('/sse'));
  const [first] = (await once(stream, 'readable').then(() => [stream.read()])) as [Buffer];
  let text = first.toString();
  while (!text.includes('sessionId=')) {
    await once(stream, 'readable');
    text += String(stream.read());
  }
  const path = /data: (\S+)/.exec(text)![1]!;
  const post = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    posts.write(postText(path, { 'content-length': String(body.length) }, body));
  };
  post(initialize('2024-11-05'));
  post({ method: 'notifications/initialized' });
  return post;
}

test('unread HTTP+SSE sessions share one limit', async () => {
  // More than the kernel takes for a client that does not read.
  const filler = 'x'.repeat(5 * MB);
  const server = await limitedServer({ big: () => Promise.resolve({ filler }) });
  const { handler, seen, open, call } = server;
  for (let n = 1; n <= 12; n += 1) {
    const posts = await open();
    (await openSse(server, posts.resume()))({ id: 1, method: 'big' });
    await vi.waitFor(() => expect(seen.filter(({ method }) => method === 'big')).toHaveLength(n));
  }
  await vi.waitFor(() => expect(handler.bufferedBytes).toBeLessThanOrEqual(BOUND));
  expect(await call()).toBe(200);
  await vi.waitFor(() => expect(handler.sessions).toBeLessThan(12));
});

test('an unread event counts more than its text, because it takes more memory', async () => {
  const server = await limitedServer({ maxBufferedBytes: 256 * MB });
  const { handler, open } = server;
  const posts = await open();
  let answered = 0;
  posts.on('data', (chunk: Buffer) => (answered += String(chunk).split('202 Accepted').length - 1)).resume();
  const post = await openSse(server, posts);
  for (let id = 1; id <= 4; id += 1) post({ id, method: 'big' });
  await vi.waitFor(() => expect(answered).toBe(6));
  const before = handler.bufferedBytes;
  for (let id = 1001; id <= 1050; id += 1) post({ id, method: 'ping' });
  await vi.waitFor(() => expect(answered).toBe(56));
  // 640 bytes for its sender, and 290 for the write.
  expect(handler.bufferedBytes - before).toBeGreaterThan(50 * 930);
});

test('unread streams of sessions share one limit with the stored events', async () => {
  const { handler, seen, open, post, call, session } = await limitedServer();
  const sockets: Socket[] = [];
  for (let n = 0; n < 12; n += 1) {
    const id = await session();
    const stream = await open();
    sockets.push(stream);
    stream.write(get('/mcp', { 'mcp-session-id': id }));
    post(await open(), JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'notice' }), { 'mcp-session-id': id });
  }
  await vi.waitFor(() => expect(seen.filter(({ method }) => method === 'notice')).toHaveLength(12));
  await vi.waitFor(() => expect(handler.streams).toBeLessThanOrEqual(15));
  expect(handler.bufferedBytes).toBeLessThanOrEqual(BOUND);
  expect(await call()).toBe(200);
});

test('unfinished bodies share one limit: the first ones are refused, and other clients are served', async () => {
  const { handler, open, call } = await limitedServer();
  const sockets: Socket[] = [];
  let refusals = '';
  for (let n = 0; n < 30; n += 1) {
    const socket = await open();
    sockets.push(socket);
    socket.on('data', (chunk) => (refusals += String(chunk))).resume();
    socket.write(postText('/mcp', { ...headers, 'content-length': String(4 * MB) }, 'x'.repeat(MB)));
  }
  await closed(sockets, 20);
  expect(refusals).toMatch(/HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n[\s\S]*"code":-32000/);
  expect(handler.bufferedBytes).toBeLessThanOrEqual(BOUND);
  expect(await call()).toBe(200);
  for (const socket of sockets) socket.destroy();
  await vi.waitFor(() => expect(handler.bufferedBytes).toBe(0));
});

test('a body in pieces of one byte takes no more memory than one in a single piece', async () => {
  const { handler, open } = await limitedServer();
  const socket = await open();
  socket.write(postText('/mcp', { ...headers, 'transfer-encoding': 'chunked' }) + '1\r\nx\r\n'.repeat(100_000));
  await vi.waitFor(() => expect(handler.bufferedBytes).toBeGreaterThan(100_000));
  expect(handler.bufferedBytes).toBeLessThan(300_000);
});

test('a response larger than the limit reaches a client that reads it', async () => {
  const { call, handler } = await limitedServer({ maxBufferedBytes: MB });
  expect(await call()).toBe(200);
  await vi.waitFor(() => expect(handler.bufferedBytes).toBe(0));
});

test('data that was read no longer counts', async () => {
  const { handler, call, session, open, post } = await limitedServer();
  for (let n = 0; n < 4; n += 1) expect(await call()).toBe(200);
  const id = await session();
  const socket = await open();
  socket.resume();
  post(socket, JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'big' }), { 'mcp-session-id': id });
  await vi.waitFor(() => expect(handler.bufferedBytes).toBe(0));
});

test('through fetch, unread responses share one limit', async () => {
  const { service } = scripted({ big: () => ({ filler: 'x'.repeat(4 * MB) }) });
  const http = new ModernHttp(service, {}, { maxBufferedBytes: BOUND });
  const unread = [];
  for (let n = 0; n < 5; n += 1) unread.push(await http.call('big'));
  await expect(unread[0]!.text()).rejects.toThrow('interrupted');
  expect(await unread[4]!.text()).toContain('xxx');
  expect(unread[4]!.headers.get('content-length')).toMatch(/^41\d{5}$/);
  expect(http.handler.bufferedBytes).toBeLessThanOrEqual(BOUND);
});

test('through fetch, unread streams share one limit, and a stream that is cut off is reported', async () => {
  const { service } = scripted({ big: () => ({ filler: 'x'.repeat(4 * MB) }) });
  const refusals: unknown[] = [];
  const onrefusal = (refusal: unknown): void => void refusals.push(refusal);
  const http = new ModernHttp(service, {}, { maxBufferedBytes: BOUND, grace: 0, onrefusal });
  const unread = [];
  for (let n = 0; n < 5; n += 1) unread.push(await http.call('big'));
  await expect(unread[0]!.text()).rejects.toThrow('interrupted');
  expect(await unread[4]!.text()).toContain('xxx');
  expect(refusals[0]).toEqual({ reason: 'unread', status: undefined });
  expect(http.handler.bufferedBytes).toBeLessThanOrEqual(BOUND);
});

test('through fetch, an answered request does not count, even if nobody reads its stream', async () => {
  const done = deferred();
  const { service } = scripted({ work: () => done.promise.then(() => ({})) });
  const http = new ModernHttp(service, {}, { grace: 0 });
  const response = await http.call('work', { filler: 'x'.repeat(10_000) });
  expect(http.handler.bufferedBytes).toBeGreaterThan(10_000);
  done.resolve();
  await vi.waitFor(() => expect(http.handler.bufferedBytes).toBe(0));
  expect(await response.text()).toContain('"result":{');
});

test('through fetch, unfinished bodies share one limit', async () => {
  const http = new TestHttp(scripted().service, { maxBufferedBytes: 1024 * 1024 });
  const unfinished = Array.from({ length: 4 }, () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(300_000)) });
    const init = { method: 'POST', headers: POST_HEADERS, body, duplex: 'half' } as RequestInit;
    return http.fetch(new Request('http://localhost/mcp', init));
  });
  const first = await unfinished[0]!;
  expect(first.status).toBe(503);
  expect(first.headers.get('retry-after')).toBe('1');
  expect((await http.open()).id).toBeTruthy();
  expect(http.handler.bufferedBytes).toBeLessThanOrEqual(1024 * 1024);
});

test('a request counts until it is answered, and not after', async () => {
  const done = deferred();
  const { service } = scripted({ work: () => done.promise.then(() => ({})) });
  const http = new ModernHttp(service);
  const first = http.call('work', { filler: 'x'.repeat(10_000) });
  await vi.waitFor(() => expect(http.handler.bufferedBytes).toBeGreaterThan(10_000));
  done.resolve();
  await (await first).text();
  expect(http.handler.bufferedBytes).toBe(0);
});

/** A client that sends requests, which are answered at the end of the test. */
interface Sender {
  readonly from: string;
  readonly key?: string;
}

/** The first sends requests until the server refuses even small ones. Says whether it takes a large one of the second. */
async function crowded(first: Sender, second: Sender, auth?: Authenticator): Promise<boolean> {
  const done = deferred();
  const arrivals = new EventEmitter();
  const { service } = scripted({
    work: async () => {
      arrivals.emit('work');
      await done.promise;
      return {};
    },
  });
  const { onsession, onrequest } = createInbound(service);
  const listener = await listen({ port: 0, onsession, onrequest, maxBufferedBytes: BOUND, auth });
  onTestFinished(() => listener.close(0));
  const isTaken = ({ from: localAddress, key }: Sender, size: number): Promise<boolean> => {
    const taken = once(arrivals, 'work').then(() => true);
    const socket = connect({ port: listener.port, host: '127.0.0.1', localAddress });
    onTestFinished(() => void socket.destroy());
    const refused = once(socket, 'data').then(() => false);
    const message = modernRequest(1, 'work', { filler: 'x'.repeat(size) });
    const body = JSON.stringify(message);
    const length = { 'content-length': String(body.length), ...(key !== undefined && { 'x-api-key': key }) };
    socket.write(postText('/mcp', { ...modernHeaders(message), ...length }, body));
    return Promise.race([taken, refused]);
  };
  for (let size = MB; size > 100;) {
    if (!(await isTaken(first, size))) size >>= 1;
  }
  const isServed = await isTaken(second, MB / 2);
  done.resolve();
  await vi.waitFor(() => expect(listener.handler.bufferedBytes).toBe(0));
  return isServed;
}

test('one address cannot use all the room for requests, however many it sends', async () => {
  expect(await crowded({ from: '127.0.0.1' }, { from: '127.0.0.2' })).toBe(true);
});

test('one principal cannot use all the room for requests at the same address, however many it sends', async () => {
  const auth = apiKeyAuth({ keys: { 'the-key-of-ada': 'ada', 'the-key-of-bob': 'bob' } });
  const ada = { from: '127.0.0.1', key: 'the-key-of-ada' };
  expect(await crowded(ada, { ...ada, key: 'the-key-of-bob' }, auth)).toBe(true);
});

test('one principal has one limit for all its addresses', async () => {
  const auth = apiKeyAuth({ keys: { 'the-key-of-ada': 'ada' } });
  const ada = { from: '127.0.0.1', key: 'the-key-of-ada' };
  expect(await crowded(ada, { ...ada, from: '127.0.0.2' }, auth)).toBe(false);
});
