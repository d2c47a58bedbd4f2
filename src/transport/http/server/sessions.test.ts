import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Events, initialize, openRaw, POST_HEADERS, TestHttp } from '../../../../test/support/http.ts';
import { aborted, deferred, scripted, settled } from '../../../../test/support/service.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const MINUTE = 60_000;
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('session ids are visible ASCII and unique', async () => {
  const http = new TestHttp(scripted().service);
  const ids = new Set<string>();
  for (let count = 0; count < 20; count += 1) ids.add((await http.open()).id);
  expect(ids.size).toBe(20);
  for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{32,}$/);
});

test('a session id has more than 100 random bits', async () => {
  const http = new TestHttp(scripted().service, { maxSessions: 400 });
  const ids: string[] = [];
  for (let count = 0; count < 400; count += 1) ids.push((await http.open()).id);
  // With a counter, a time or a short random number, most characters would stay the same, or two would change together.
  const places = Array.from(ids[0]!, (_, place) => ids.map((id) => id[place]!));
  const entropy = (symbols: readonly string[]): number => {
    const counts = new Map<string, number>();
    for (const symbol of symbols) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
    return [...counts.values()].reduce((sum, n) => sum - (n / symbols.length) * Math.log2(n / symbols.length), 0);
  };
  expect(places.map(entropy).reduce((sum, bits) => sum + bits, 0)).toBeGreaterThan(100);
  const random = places.filter((symbols) => entropy(symbols) > 1);
  for (const [index, symbols] of random.entries()) {
    for (const other of random.slice(index + 1)) {
      const pairs = entropy(symbols.map((symbol, at) => symbol + other[at]!));
      expect(pairs).toBeGreaterThan(entropy(symbols) + 1);
    }
  }
});

test('DELETE ends a session, and its signal fires', async () => {
  const { service, seen } = scripted();
  const session = await new TestHttp(service).open();
  await session.call(1, 'echo');
  const { signal } = seen.at(-1)!.caller.session!;
  const events = await session.events();
  expect((await session.delete()).status).toBe(204);
  expect(signal.aborted).toBe(true);
  expect((await events.rest()).filter(({ data }) => data)).toEqual([]);
  expect((await session.call(2, 'echo')).status).toBe(404);
  expect((await session.delete()).status).toBe(404);
  expect(session.http.handler.sessions).toBe(0);
});

test('a second initialize in a session is refused', async () => {
  const session = await new TestHttp(scripted().service).open();
  const response = await session.post(initialize());
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ id: 'init', error: { code: -32600 } });
  expect((await session.post(ping)).status).toBe(200);
});

test('a session belongs to the principal that opened it', async () => {
  const http = new TestHttp(scripted().service);
  const headers = { 'content-type': 'application/json' };
  const as = (principal: string, body: object, more: object = {}): Promise<Response> =>
    http.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { ...headers, ...more },
        body: JSON.stringify(body),
      }),
      { principal },
    );
  const id = (await as('ada', initialize())).headers.get('mcp-session-id');
  expect((await as('ada', ping, { 'mcp-session-id': id })).status).toBe(200);
  expect((await as('bob', ping, { 'mcp-session-id': id })).status).toBe(404);
});

test('a session without requests ends after the idle timeout', async () => {
  const http = new TestHttp(scripted().service, { idleTimeout: 10 * MINUTE });
  const session = await http.open();
  await vi.advanceTimersByTimeAsync(9 * MINUTE);
  expect((await session.post(ping)).status).toBe(200);
  await vi.advanceTimersByTimeAsync(9 * MINUTE);
  expect(http.handler.sessions).toBe(1);
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  expect(http.handler.sessions).toBe(0);
  expect((await session.post(ping)).status).toBe(404);
  expect(vi.getTimerCount()).toBe(0);
});

test('a session with an open stream does not expire, but does after the client has disconnected', async () => {
  const http = new TestHttp(scripted().service, { idleTimeout: 10 * MINUTE, keepAlive: 0 });
  const events = await (await http.open()).events();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(http.handler.sessions).toBe(1);
  await events.cancel();
  await vi.advanceTimersByTimeAsync(9 * MINUTE);
  expect(http.handler.sessions).toBe(1);
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  expect(http.handler.sessions).toBe(0);
});

test('above the limit, new sessions get 503, and existing ones continue', async () => {
  const http = new TestHttp(scripted().service, { maxSessions: 2 });
  const first = await http.open();
  await http.open();
  const refused = await http.post(initialize());
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await first.post(ping)).status).toBe(200);
  await first.delete();
  expect((await http.post(initialize())).status).toBe(200);
});

test('the limit counts the sessions of both transports together', async () => {
  const http = new TestHttp(scripted().service, { maxSessions: 2 });
  await http.open();
  const sse = new Events(await http.send('GET', '/sse'));
  await sse.next();
  expect((await http.post(initialize())).status).toBe(503);
  expect((await http.send('GET', '/sse')).status).toBe(503);
});

test('at the limit the session that was idle the longest makes room, but never a connected one', async () => {
  const http = new TestHttp(scripted().service, { maxSessions: 3 });
  const connected = await http.open();
  await connected.events();
  const silent = await http.open();
  await vi.advanceTimersByTimeAsync(30_000);
  const recent = await http.open();
  await vi.advanceTimersByTimeAsync(45_000);
  expect((await http.post(initialize())).status).toBe(200);
  expect((await silent.post(ping)).status).toBe(404);
  expect((await recent.post(ping)).status).toBe(200);
  expect((await connected.post(ping)).status).toBe(200);
  expect((await http.post(initialize())).status).toBe(503);
});

test('closing the handler ends sessions, streams and timers', async () => {
  const { service, seen } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const http = new TestHttp(service);
  const session = await http.open();
  const events = await session.events();
  const sse = new Events(await http.send('GET', '/sse'));
  const pending = session.call(1, 'work');
  await settled();
  expect(http.handler.sessions).toBe(2);
  await http.handler.close();
  expect(http.handler.sessions).toBe(0);
  await events.rest();
  await sse.rest();
  expect((await pending).status).toBe(404);
  expect(seen.at(-1)!.signal.aborted).toBe(true);
  // The timer for delayed responses runs once more.
  await vi.advanceTimersByTimeAsync(200);
  expect(vi.getTimerCount()).toBe(0);
});

test('a session whose requests were all cancelled can expire', async () => {
  const { service } = scripted({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  const http = new TestHttp(service, { idleTimeout: 10 * MINUTE });
  const session = await http.open('2025-06-18');
  for (let id = 0; id < 5; id += 1) {
    const pending = session.call(id, 'work');
    await settled();
    await session.notify('notifications/cancelled', { requestId: id });
    expect(await new Events(await pending).rest()).toEqual([]);
  }
  await vi.advanceTimersByTimeAsync(13 * MINUTE);
  expect(http.handler.sessions).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('an open stream gets comments to keep it alive', async () => {
  const http = new TestHttp(scripted().service, { keepAlive: 1000 });
  const session = await http.open();
  const events = await session.events();
  await events.next();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await events.next()).toEqual({ comment: 'keep-alive' });
});

test('an exception in onclose is reported, and the session is closed', async () => {
  const errors: Error[] = [];
  const { session, server } = await openRaw({ idleTimeout: MINUTE });
  server.onerror = (error: Error) => errors.push(error);
  server.onclose = () => {
    throw new Error('mine');
  };
  await vi.advanceTimersByTimeAsync(5 * MINUTE);
  expect((await session.post(ping)).status).toBe(404);
  expect(errors.map(({ message }) => message)).toEqual(['mine']);
});

test('messages sent before a session is closed are delivered', async () => {
  const { session, server } = await openRaw();
  const pending = session.call(1, 'work');
  await settled();
  void server.send({ jsonrpc: '2.0', method: 'notifications/n' }, { relatedRequestId: 1 });
  void server.send({ jsonrpc: '2.0', id: 1, result: { done: true } });
  void server.close();
  expect((await new Events(await pending).rest()).at(-1)?.data).toContain('"done":true');
});

test('unanswered requests have a limited total size', async () => {
  vi.useRealTimers();
  const gate = deferred();
  const { service } = scripted({ wait: () => gate.promise.then(() => ({})) });
  const session = await new TestHttp(service, { grace: 1 }).open();
  const filler = 'x'.repeat(4_000_000);
  const pending = Array.from({ length: 16 }, (_, id) => session.call(`w${id}`, 'wait', { filler }));
  const refused = await session.call('more', 'wait', { filler });
  expect(await refused.text()).toContain('bytes of requests are in flight');
  gate.resolve();
  for (const response of await Promise.all(pending)) await response.text();
  expect(await (await session.call('again', 'wait', { filler })).text()).toContain('"result"');
});

describe('one principal', () => {
  interface Opened {
    readonly status: number;
    get(): Promise<Response>;
    ping(): Promise<number>;
  }

  function capped(maxSessions: number): (principal: string) => Promise<Opened> {
    const http = new TestHttp(scripted().service, { maxSessions });
    return async (principal) => {
      const send = (method: string, headers: Record<string, string>, body?: object): Promise<Response> =>
        http.fetch(
          new Request('http://localhost/mcp', { method, headers, ...(body && { body: JSON.stringify(body) }) }),
          { principal },
        );
      const { status, headers } = await send('POST', POST_HEADERS, initialize());
      const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
      return {
        status,
        get: () => send('GET', { accept: 'text/event-stream', ...session }),
        ping: async () => (await send('POST', { ...POST_HEADERS, ...session }, ping)).status,
      };
    };
  }

  test('may have all sessions while no other principal needs one', async () => {
    const open = capped(4);
    for (let count = 0; count < 4; count += 1) expect((await open('ada')).status).toBe(200);
    expect((await open('ada')).status).toBe(503);
  });

  test('with more than half of the sessions makes room for others, connected sessions last', async () => {
    const open = capped(4);
    const held: Opened[] = [];
    for (let count = 0; count < 4; count += 1) {
      held.push(await open('mallory'));
      await vi.advanceTimersByTimeAsync(1);
    }
    for (const session of [held[0]!, held[1]!, held[3]!]) await session.get();
    const ada = [await open('ada'), await open('ada')];
    expect(ada.map(({ status }) => status)).toEqual([200, 200]);
    expect(await Promise.all(held.map((session) => session.ping()))).toEqual([404, 200, 404, 200]);
    expect((await open('bob')).status).toBe(503);
  });

  test('with half of the sessions does not end sessions of others', async () => {
    const open = capped(4);
    const ada = [await open('ada'), await open('ada')];
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    const own = [await open('mallory'), await open('mallory')];
    expect((await open('mallory')).status).toBe(503);
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect((await open('mallory')).status).toBe(200);
    expect(await Promise.all([...ada, ...own].map((session) => session.ping()))).toEqual([200, 200, 404, 200]);
  });

  test('keeps the only session of a server with room for one', async () => {
    const open = capped(1);
    const session = await open('ada');
    expect((await open('bob')).status).toBe(503);
    expect(await session.ping()).toBe(200);
  });
});
