import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Events, TestHttp, initialize } from '../../../../../test/support/http.ts';
import { aborted, scripted, settled } from '../../../../../test/support/service.ts';
import type { Service } from '../../../../core/exchange.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const JSON_TYPE = { 'content-type': 'application/json' };
const request = (id: string | number, method: string) => ({ jsonrpc: '2.0', id, method });

interface Sse {
  http: TestHttp;
  events: Events;
  address: string;
  post: (body: unknown) => Promise<Response>;
}

async function connect(service: Service, options = {}): Promise<Sse> {
  const http = new TestHttp(service, options);
  const events = new Events(await http.send('GET', '/sse', { accept: 'text/event-stream' }));
  const address = (await events.next())!.data!;
  const post = (body: unknown): Promise<Response> => {
    return http.send('POST', address, JSON_TYPE, typeof body === 'string' ? body : JSON.stringify(body));
  };
  return { http, events, address, post };
}

async function open(service: Service, revision = '2024-11-05', options = {}): Promise<Sse> {
  const sse = await connect(service, options);
  await sse.post(initialize(revision));
  await sse.events.message();
  await sse.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return sse;
}

test('the first event names a separate URL for each session', async () => {
  const http = new TestHttp(scripted().service, { messagesPath: '/in' });
  const addresses = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    const response = await http.send('GET', '/sse');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const event = await new Events(response).next();
    expect(event).toEqual({ event: 'endpoint', data: expect.stringMatching(/^\/in\?sessionId=[\w-]{32,}$/) });
    addresses.add(event!.data!);
  }
  expect(addresses.size).toBe(3);
});

test('below a path prefix, that URL has the prefix', async () => {
  const http = new TestHttp(scripted().service, { publicPrefix: '/api' });
  const event = await new Events(await http.send('GET', '/sse')).next();
  expect(event?.data).toMatch(/^\/api\/messages\?sessionId=/);
  // A proxy in front removes the prefix.
  const response = await http.send('POST', event!.data!.slice('/api'.length), JSON_TYPE, JSON.stringify(initialize()));
  expect(response.status).toBe(202);
});

test('the endpoint event comes before all messages of the server', async () => {
  const http = new TestHttp(scripted().service, {
    onsession: async (transport) => {
      await transport.start();
      await transport.send({ jsonrpc: '2.0', method: 'notifications/hasty' });
    },
  });
  const events = new Events(await http.send('GET', '/sse'));
  expect((await events.next())!.event).toBe('endpoint');
  expect(await events.message()).toMatchObject({ method: 'notifications/hasty' });
});

test('a message gets 202, and its response is a message event', async () => {
  const { events, post } = await connect(scripted().service);
  const response = await post(initialize('2024-11-05'));
  expect(response.status).toBe(202);
  expect(await response.text()).toBe('');
  const event = await events.next();
  expect(event!.event).toBe('message');
  expect(JSON.parse(event!.data!)).toMatchObject({ id: 'init', result: { protocolVersion: '2024-11-05' } });
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await post(request(1, 'ping'));
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
});

test('an unknown session gets 404, and a missing session id gets 400', async () => {
  const { http } = await connect(scripted().service);
  const post = (path: string): Promise<Response> =>
    http.send('POST', path, JSON_TYPE, JSON.stringify(request(1, 'ping')));
  expect((await post('/messages?sessionId=unknown')).status).toBe(404);
  expect((await post('/messages')).status).toBe(400);
});

test.each([
  ['not JSON', '{', 400],
  ['not a message', '{}', 400],
  ['too large', JSON.stringify({ filler: 'x'.repeat(2000) }), 413],
])('a body that is %s is refused, and the session continues', async (_, body, status) => {
  const { events, post } = await open(scripted().service, '2024-11-05', { maxBodyBytes: 1000 });
  expect((await post(body)).status).toBe(status);
  await post(request(1, 'ping'));
  expect(await events.message()).toMatchObject({ id: 1 });
});

test('a wrong content type gets 415', async () => {
  const { http, address } = await connect(scripted().service);
  expect((await http.send('POST', address, { 'content-type': 'text/plain' }, '{}')).status).toBe(415);
});

test('the session ends with its stream', async () => {
  const { service, seen } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const { http, events, post } = await open(service);
  await post(request(1, 'work'));
  expect(http.handler.sessions).toBe(1);
  await events.cancel();
  await settled();
  expect(seen.at(-1)!.signal.aborted).toBe(true);
  expect(http.handler.sessions).toBe(0);
  expect((await post(request(2, 'ping'))).status).toBe(404);
});

test('a request with an id in flight is refused, and the first request is answered', async () => {
  const { service } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const { events, post } = await open(service);
  await post(request(1, 'work'));
  expect((await post(request(1, 'ping'))).status).toBe(400);
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  await post(request(1, 'ping'));
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
});

test('a cancellation that comes before its request cancels it', async () => {
  const { service, seen } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const { events, post } = await open(service);
  expect((await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })).status).toBe(
    202,
  );
  await post(request(1, 'work'));
  await post(request(2, 'ping'));
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
  await vi.waitFor(() => expect(seen.at(-1)!.signal.aborted).toBe(true));
});

test('a cancellation waits ten seconds for its request', async () => {
  const { events, post } = await open(scripted().service);
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  vi.advanceTimersByTime(10_000);
  await post(request(1, 'echo'));
  await post(request(2, 'echo'));
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { params: {} } });
});

test('a batch is answered by a batch on the stream in 2025-03-26', async () => {
  const { service } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const { events, post } = await open(service, '2025-03-26');
  expect((await post([request(1, 'ping'), request(2, 'echo'), 7])).status).toBe(202);
  expect(await events.message()).toEqual([
    { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, result: { params: {} } },
  ]);
  // A cancelled request does not delay the others.
  await post([request(3, 'ping'), request(4, 'work')]);
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } });
  expect(await events.message()).toEqual([{ jsonrpc: '2.0', id: 3, result: {} }]);
  expect((await post([9])).status).toBe(202);
  expect(await events.message()).toEqual([{ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } }]);
});

test('in a batch, initialize and a request with an id in flight are refused, and the rest is answered', async () => {
  const { service } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const { events, post } = await open(service, '2025-03-26');
  await post(request(1, 'work'));
  expect((await post([request(1, 'ping'), request(2, 'initialize'), request(3, 'ping')])).status).toBe(202);
  expect(await events.message()).toEqual([
    { jsonrpc: '2.0', error: { code: -32600, message: expect.stringContaining('in use') } },
    { jsonrpc: '2.0', id: 2, error: { code: -32600, message: expect.stringContaining('initialize') } },
    { jsonrpc: '2.0', id: 3, result: {} },
  ]);
});

test.each(['2024-11-05', '2025-06-18', '2025-11-25'])('a batch is refused in %s', async (revision) => {
  const { post } = await open(scripted().service, revision);
  const response = await post([request(1, 'ping')]);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: -32600, message: expect.stringContaining(revision) } });
});

test('a result that JSON cannot represent becomes an error', async () => {
  const { events, post } = await open(scripted({ work: () => ({ n: 1n }) }).service);
  await post(request(1, 'work'));
  expect(await events.message()).toMatchObject({ id: 1, error: { code: -32603 } });
});

test('a client that does not read is disconnected, which ends the session', async () => {
  const { service } = scripted({ big: () => ({ filler: 'x'.repeat(200_000) }) });
  const { http, post } = await open(service, '2024-11-05', { stallTimeout: 5000, keepAlive: 0 });
  await post(request(1, 'big'));
  await vi.advanceTimersByTimeAsync(4900);
  expect(http.handler.sessions).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(http.handler.sessions).toBe(0);
});

test('through fetch, an unread event counts more than its text, because it takes more memory', async () => {
  const { http, post } = await open(scripted().service);
  for (let id = 1; id <= 200; id += 1) await post(request(id, 'ping'));
  expect(http.handler.bufferedBytes).toBeGreaterThan(200 * 600);
});

test('above the limit of sessions, a stream gets 503', async () => {
  const { http } = await connect(scripted().service, { maxSessions: 1 });
  expect((await http.send('GET', '/sse')).status).toBe(503);
});

test('a session that the application refuses is closed', async () => {
  const http = new TestHttp(scripted().service, { onsession: () => Promise.reject(new Error('no')) });
  expect(await new Events(await http.send('GET', '/sse')).next()).toBeUndefined();
  expect(http.handler.sessions).toBe(0);
});

test('a malformed response is refused, and fails its question', async () => {
  const { service } = scripted({
    ask: (exchange) => exchange.ask('roots/list', {}).catch(({ message }: Error) => ({ message })),
  });
  const { events, post } = await connect(service);
  await post(initialize('2024-11-05', { roots: {} }));
  await events.message();
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await post(request(1, 'ask'));
  const { id } = await events.message();
  expect((await post({ jsonrpc: '2.0', id, result: 'text' })).status).toBe(400);
  const message = 'Invalid response: "result" must be an object';
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { message } });
});
