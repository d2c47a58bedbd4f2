import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Exchange } from '../../src/core/exchange.ts';
import { Events, TestHttp, openRaw, type SentEvent } from '../support/http.ts';
import { deferred, listening, scripted, settled } from '../support/service.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const REVISION = '2025-03-26';
const request = (id: number, method: string) => ({ jsonrpc: '2.0', id, method });
const answer = (id: number) => ({ jsonrpc: '2.0' as const, id, result: { id } });
const note = (n: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/n', params: { n } });
const messages = (events: SentEvent[]): unknown[] =>
  events.filter(({ data }) => data).map(({ data }) => JSON.parse(data!));

test('no two events of a session have the same id, on any stream', async () => {
  const { session, server } = await openRaw({}, REVISION);
  const standalone = await session.events();
  const seen: SentEvent[] = [];
  for (const id of [1, 2, 3]) {
    const pending = session.call(id, 'work');
    await settled();
    await server.send(note(id), { relatedRequestId: id });
    await server.send(note(10 + id));
    await server.send(answer(id));
    seen.push(...(await new Events(await pending).rest()), (await standalone.next())!);
  }
  expect(seen).toHaveLength(9);
  for (const { id } of seen) expect(id).toEqual(expect.any(String));
  expect(new Set(seen.map(({ id }) => id)).size).toBe(9);
});

describe('the stream of a POST in 2025-03-26', () => {
  test('is not closed for reconnection, because the revision has no such rule', async () => {
    const { session, server } = await openRaw({ streamDuration: 5000, keepAlive: 0, grace: 0 }, REVISION);
    const pending = session.post([request(1, 'work'), request(2, 'work')]);
    await settled();
    await server.send(note(1), { relatedRequestId: 1 });
    const events = new Events(await pending);
    await server.send(answer(1));
    await vi.advanceTimersByTimeAsync(60_000);
    await server.send(answer(2));
    expect(messages(await events.rest())).toEqual([note(1), answer(1), answer(2)]);
  });

  test('that breaks off does not cancel, and missed messages arrive on resumption', async () => {
    const go = deferred();
    const { service, seen } = scripted({
      work: async (exchange) => {
        await exchange.notify('notifications/n', { n: 1 });
        await go.promise;
        return { done: true };
      },
    });
    const session = await new TestHttp(service).open(REVISION);
    const events = new Events(await session.post([request(1, 'work'), request(2, 'echo')]));
    // The response to the one, and the notification of the other, in either order.
    await events.next();
    const { id } = (await events.next())!;
    await events.cancel();
    await settled();
    for (const { signal } of seen) expect(signal.aborted).toBe(false);
    go.resolve();
    expect(messages(await (await session.events(id)).rest())).toEqual([
      { jsonrpc: '2.0', id: 1, result: { done: true } },
    ]);
  });

  test('carries messages of its requests, and the GET stream carries all others', async () => {
    const go = deferred();
    const subscribers: Exchange[] = [];
    const { service } = scripted({
      'subscriptions/listen': listening(subscribers),
      work: async (exchange) => {
        await exchange.notify('notifications/n', { n: 1 });
        await go.promise;
        return exchange.ask('roots/list', {});
      },
    });
    const session = await new TestHttp(service).open(REVISION, { roots: {} });
    await settled();
    const standalone = await session.events();
    const events = new Events(await session.post([request(1, 'work')]));
    await subscribers[0]!.notify('notifications/n', { n: 11 });
    go.resolve();
    expect(await events.message()).toEqual(note(1));
    const question = await events.message();
    await session.post({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
    expect(messages(await events.rest())).toEqual([{ jsonrpc: '2.0', id: 1, result: { roots: [] } }]);
    await subscribers[0]!.notify('notifications/n', { n: 12 });
    expect([await standalone.message(), await standalone.message()]).toEqual([note(11), note(12)]);
  });
});

test('the Origin is checked for every method, with and without a session', async () => {
  const session = await new TestHttp(scripted().service).open(REVISION);
  const origin = 'https://evil.example';
  const status = async (method: string, headers: Record<string, string | undefined>): Promise<number> => {
    const body = method === 'POST' ? JSON.stringify(request(1, 'ping')) : undefined;
    const all = { 'content-type': 'application/json', accept: '*/*', ...headers };
    const response = await session.http.send(method, '/mcp', all, body);
    await response.body?.cancel();
    return response.status;
  };
  for (const method of ['POST', 'GET', 'DELETE']) {
    expect(await status(method, { ...session.headers, origin })).toBe(403);
    expect(await status(method, { origin })).toBe(403);
  }
  for (const method of ['POST', 'GET']) {
    expect(await status(method, { ...session.headers, origin: 'http://localhost:3000' })).toBe(200);
  }
});

test('an ended session gets 404 for every method', async () => {
  const http = new TestHttp(scripted().service, { idleTimeout: 60_000 });
  const session = await http.open(REVISION);
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(http.handler.sessions).toBe(0);
  expect((await session.post(request(1, 'ping'))).status).toBe(404);
  expect((await session.post([request(1, 'ping')])).status).toBe(404);
  expect((await session.get()).status).toBe(404);
  expect((await session.delete()).status).toBe(404);
});
