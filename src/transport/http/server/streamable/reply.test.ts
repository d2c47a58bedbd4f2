import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Events, TestHttp, initialize } from '../../../../../test/support/http.ts';
import { Unavailable } from '../../../../core/unavailable.ts';
import { RpcError } from '../../../../jsonrpc/errors.ts';
import { aborted, deferred, scripted, settled } from '../../../../../test/support/service.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A reply starts its timer at the end of a turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const log = (data: string) => ({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });

test('a result that comes soon is plain JSON', async () => {
  const session = await new TestHttp(scripted().service).open();
  const response = await session.call(0, 'echo', { a: 1 });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.text()).toBe('{"jsonrpc":"2.0","id":0,"result":{"params":{"a":1}}}');
});

test('an error is plain JSON with status 200', async () => {
  const session = await new TestHttp(scripted().service).open();
  const response = await session.call('', 'unheard/of');
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: '',
    error: { code: -32601, message: expect.any(String) },
  });
});

test('an error of a part that cannot be reached has status 503, unless a stream has begun', async () => {
  const go = deferred();
  const fails = (): never => {
    throw new Unavailable('not here', { cause: undefined });
  };
  const { service } = scripted({
    now: fails,
    later: () => go.promise.then(fails),
    peer: () => {
      throw new RpcError(-32000, 'not here', { data: { notExecuted: true }, origin: 'peer' });
    },
  });
  const session = await new TestHttp(service, { grace: 50 }).open('2025-06-18');
  const error = { code: -32000, message: 'not here', data: { notExecuted: true } };
  const response = await session.call(1, 'now');
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error });
  const ofPeer = await session.call(2, 'peer');
  expect([ofPeer.status, ofPeer.headers.get('retry-after')]).toEqual([200, null]);
  const pending = session.call(3, 'later');
  await nextTurn();
  await vi.advanceTimersByTimeAsync(60);
  const events = new Events(await pending);
  go.resolve();
  expect(events.response.status).toBe(200);
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 3, error });
});

test('a notification before the result makes the response a stream', async () => {
  const { service } = scripted({
    work: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'one' });
      return { done: true };
    },
  });
  const session = await new TestHttp(service).open();
  const response = await session.call(1, 'work');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toContain('no-cache');
  const [priming, ...messages] = await new Events(response).rest();
  expect(priming).toEqual({ id: expect.any(String), data: '' });
  expect(messages.map(({ event, data }) => [event, JSON.parse(data!)])).toEqual([
    ['message', log('one')],
    ['message', { jsonrpc: '2.0', id: 1, result: { done: true } }],
  ]);
  expect(new Set([priming, ...messages].map((event) => event!.id)).size).toBe(3);
});

test.each(['2024-11-05', '2025-03-26', '2025-06-18'])('there is no priming event in %s', async (revision) => {
  const { service } = scripted({
    work: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'one' });
      return {};
    },
  });
  const session = await new TestHttp(service).open(revision);
  const events = await new Events(await session.call(1, 'work')).rest();
  expect(events.every(({ data }) => data !== '')).toBe(true);
  expect(events).toHaveLength(2);
});

test('a result after more than 100 ms comes on a stream', async () => {
  const answer = deferred();
  const { service } = scripted({ work: () => answer.promise.then(() => ({ late: true })) });
  const session = await new TestHttp(service, { grace: 50 }).open('2025-06-18');
  const pending = session.call(1, 'work');
  await nextTurn();
  await vi.advanceTimersByTimeAsync(60);
  const events = new Events(await pending);
  expect(events.response.headers.get('content-type')).toBe('text/event-stream');
  answer.resolve();
  expect(await events.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { late: true } });
  expect(await events.next()).toBeUndefined();
});

test('if the session ends, the stream of a request ends with an error, so the client does not wait for its timeout', async () => {
  const { service } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const session = await new TestHttp(service, { grace: 50 }).open('2025-06-18');
  const pending = session.call(1, 'work');
  await nextTurn();
  await vi.advanceTimersByTimeAsync(60);
  const events = new Events(await pending);
  expect((await session.delete()).status).toBe(204);
  expect(await events.message()).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32000, message: 'The session has ended' },
  });
  expect(await events.next()).toBeUndefined();
});

test('a session with many requests in flight is ended in portions, so that others are served in between', async () => {
  const { service, seen } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const session = await new TestHttp(service).open();
  const pending = Array.from({ length: 1200 }, (_, id) => session.call(id, 'work'));
  // In one turn of the event loop, only a few of them begin.
  while (seen.filter(({ method }) => method === 'work').length < 1200) await nextTurn();
  const deleted = session.delete();
  const counts: number[] = [];
  for (let ended = 0; ended < 1200; counts.push(ended)) {
    await nextTurn();
    ended = seen.filter(({ method, signal }) => method === 'work' && signal.aborted).length;
  }
  expect(counts.length).toBeGreaterThan(1);
  expect((await deleted).status).toBe(204);
  for (const { status } of await Promise.all(pending)) expect(status).toBe(404);
});

test('if initialize takes longer than 100 ms, its stream has the session id in the header', async () => {
  const ready = deferred();
  const { service } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const http = new TestHttp(service, { grace: 50 });
  const pending = http.post(initialize());
  await nextTurn();
  await vi.advanceTimersByTimeAsync(60);
  const events = new Events(await pending);
  const id = events.response.headers.get('mcp-session-id');
  expect(id).toMatch(/^[\x21-\x7e]{20,}$/);
  ready.resolve();
  expect(await events.message()).toMatchObject({ id: 'init', result: { protocolVersion: '2025-11-25' } });
  const pong = await http.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-session-id': id! });
  expect(await pong.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
});

test('initialize that fails opens no session', async () => {
  const { service } = scripted({ 'server/discover': () => Promise.reject(new Error('not today')) });
  const http = new TestHttp(service);
  const response = await http.post(initialize());
  expect(response.headers.get('mcp-session-id')).toBeNull();
  expect(await response.json()).toMatchObject({ id: 'init', error: { message: 'not today' } });
  await new Promise((resolve) => setImmediate(resolve));
  expect(http.handler.sessions).toBe(0);
});

test('a session that the application refuses gets 500', async () => {
  const http = new TestHttp(scripted().service, { onsession: () => Promise.reject(new Error('no')) });
  expect((await http.post(initialize())).status).toBe(500);
  expect(http.handler.sessions).toBe(0);
  expect(http.errors.map(String)).toEqual(['Error: no']);
});

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

test.each([
  ['a BigInt', () => ({ n: 1n })],
  ['a circular object', () => cycle],
])('a result with %s becomes an error, as JSON and on a stream', async (_, result) => {
  const { service } = scripted({
    quick: () => result(),
    streamed: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'one' });
      return result();
    },
  });
  const session = await new TestHttp(service).open('2025-06-18');
  const error = { code: -32603, message: expect.any(String) };
  expect(await (await session.call(1, 'quick')).json()).toEqual({ jsonrpc: '2.0', id: 1, error });
  const events = await new Events(await session.call(1, 'streamed')).rest();
  expect(JSON.parse(events.at(-1)!.data!)).toEqual({ jsonrpc: '2.0', id: 1, error });
});

test('initialize fails and opens no session if JSON cannot represent its result', async () => {
  const { service } = scripted({ 'server/discover': () => ({ capabilities: { n: 1n } }) });
  const http = new TestHttp(service);
  const response = await http.post(initialize());
  expect(await response.json()).toMatchObject({ id: 'init', error: { code: -32603 } });
  await new Promise((resolve) => setImmediate(resolve));
  expect(http.handler.sessions).toBe(0);
});

test('error data that JSON cannot represent is omitted', async () => {
  const { service } = scripted({
    fail: () => Promise.reject(Object.assign(new Error('odd'), { code: -32005, data: cycle })),
  });
  const session = await new TestHttp(service).open();
  expect(await (await session.call(1, 'fail')).json()).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32005, message: 'odd' },
  });
});

test('a cancelled request gets an empty stream and no response, and its id can be used again', async () => {
  const { service, seen } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const session = await new TestHttp(service).open('2025-06-18');
  const pending = session.call(1, 'work');
  await settled();
  expect((await session.notify('notifications/cancelled', { requestId: 1, reason: 'enough' })).status).toBe(202);
  expect(await new Events(await pending).rest()).toEqual([]);
  expect(seen.at(-1)!.signal.aborted).toBe(true);
  expect((await session.call(1, 'echo')).status).toBe(200);
});

test('a request with an id in flight is refused, and the first request is answered', async () => {
  const answer = deferred();
  const { service } = scripted({ work: () => answer.promise.then(() => ({ first: true })) });
  const session = await new TestHttp(service).open();
  const first = session.call(1, 'work');
  await settled();
  const second = await session.call(1, 'echo');
  expect(second.status).toBe(400);
  expect(await second.json()).toMatchObject({ error: { code: -32600 } });
  // A string is a different id than the number.
  expect((await session.call('1', 'echo')).status).toBe(200);
  answer.resolve();
  expect(await (await first).json()).toEqual({ jsonrpc: '2.0', id: 1, result: { first: true } });
});

test('a closed connection is not a cancellation', async () => {
  const answer = deferred();
  const { service, seen } = scripted({
    work: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'one' });
      await answer.promise;
      return { survived: true };
    },
  });
  const session = await new TestHttp(service).open();
  const events = new Events(await session.call(1, 'work'));
  const priming = await events.next();
  await events.cancel();
  expect(seen.at(-1)!.signal.aborted).toBe(false);
  answer.resolve();
  await settled();
  const resumed = await session.events(priming!.id);
  expect(await resumed.message()).toEqual(log('one'));
  expect(await resumed.message()).toEqual({ jsonrpc: '2.0', id: 1, result: { survived: true } });
  expect(await resumed.next()).toBeUndefined();
});

test('a session that ends answers its open requests with 404', async () => {
  const { service } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const session = await new TestHttp(service).open();
  const pending = session.call(1, 'work');
  await settled();
  expect((await session.delete()).status).toBe(204);
  expect((await pending).status).toBe(404);
});
