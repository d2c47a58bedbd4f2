import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Events, openRaw } from '../../../../../test/support/http.ts';
import { settled } from '../../../../../test/support/service.ts';
import { nextTurn } from '../../../../base/wait.ts';
import { memoryEventLog } from '../../../../store/memory.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const KB = 'x'.repeat(1024);
const kilobytes = (n: number, count: number) => ({
  jsonrpc: '2.0' as const,
  method: 'notifications/n',
  params: { n, filler: KB.repeat(count) },
});

/** Whether a promise has settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await settled();
  return done;
}

test('a slow reader slows down the writer, which continues when it reads', async () => {
  const { session, server } = await openRaw();
  const events = await session.events();
  expect(await isSettled(server.send(kilobytes(1, 1)))).toBe(true);
  const held = server.send(kilobytes(2, 100));
  expect(await isSettled(held)).toBe(false);
  expect((await events.message()).params.n).toBe(1);
  expect((await events.message()).params.n).toBe(2);
  expect(await isSettled(held)).toBe(true);
});

test('unread events stay in the log, and arrive in order', async () => {
  const { session, server } = await openRaw();
  const events = await session.events();
  const sent = Array.from({ length: 30 }, (_, n) => server.send(kilobytes(n, 20)));
  for (let n = 0; n < 30; n += 1) expect((await events.message()).params.n).toBe(n);
  await Promise.all(sent);
});

test('a client that does not read is disconnected, and its stream can be resumed', async () => {
  const { session, server } = await openRaw({ stallTimeout: 5000, keepAlive: 0 });
  const first = await session.events();
  const { id } = (await first.next())!;
  const held = server.send(kilobytes(1, 100));
  await vi.advanceTimersByTimeAsync(4900);
  expect(await isSettled(held)).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  expect(await isSettled(held)).toBe(true);
  await expect(first.rest()).rejects.toThrow('interrupted');
  await server.send(kilobytes(2, 1));
  const second = await session.events(id);
  expect((await second.message()).params.n).toBe(1);
  expect((await second.message()).params.n).toBe(2);
});

test('a slow reader continues after the gap if the log dropped its position, but cannot resume there', async () => {
  const { session, server } = await openRaw({ state: { events: memoryEventLog({ maxEvents: 3 }) }, keepAlive: 0 });
  const errors: Error[] = [];
  server.onerror = (error: Error) => errors.push(error);
  const events = await session.events();
  const { id } = (await events.next())!;
  for (let n = 1; n < 10; n += 1) void server.send(kilobytes(n, 60));
  await settled();
  for (const n of [1, 2, 7, 8, 9]) expect((await events.message()).params.n).toBe(n);
  expect(errors.map(({ name }) => name)).toEqual(['EventsPurged']);
  expect((await session.get(id)).status).toBe(410);
});

test('the response reaches a slow reader, even if the log dropped events', async () => {
  const { session, server } = await openRaw({ state: { events: memoryEventLog({ maxEvents: 3 }) }, keepAlive: 0 });
  const pending = session.call(7, 'work');
  await settled();
  const answer = { jsonrpc: '2.0' as const, id: 7, result: { filler: KB } };
  for (let n = 1; n < 10; n += 1) void server.send(kilobytes(n, 100), { relatedRequestId: 7 });
  void server.send(answer);
  await settled();
  // The events of others even remove the response from the log.
  for (let n = 1; n < 10; n += 1) void server.send(kilobytes(n, 1));
  await settled();
  const messages = (await new Events(await pending).rest()).flatMap(({ data }) => (data ? [JSON.parse(data)] : []));
  expect(messages.at(-1)).toEqual(answer);
});

test('a slow reader gets no keep-alive comments', async () => {
  const { session, server } = await openRaw({ keepAlive: 1000, stallTimeout: 10_000 });
  const events = await session.events();
  void server.send(kilobytes(1, 100));
  await vi.advanceTimersByTimeAsync(5000);
  await events.next();
  expect((await events.message()).params.n).toBe(1);
  const next = events.next();
  expect(await isSettled(next)).toBe(false);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await next).toEqual({ comment: 'keep-alive' });
});

test('the senders that wait for a slow reader are counted, and limited to 1,000', async () => {
  const { session, server } = await openRaw({ state: { events: memoryEventLog() }, keepAlive: 0 });
  const events = await session.events();
  const counted = (): number => session.http.handler.bufferedBytes;
  void server.send(kilobytes(0, 100));
  await nextTurn();
  const before = counted();
  let resolved = 0;
  for (let n = 1; n < 1500; n += 1) void server.send(kilobytes(n, 0)).then(() => (resolved += 1));
  await nextTurn();
  expect(resolved).toBe(500);
  expect(counted() - before).toBe(999 * 640);
  for (let n = 0; n < 1500; n += 1) expect((await events.message()).params.n).toBe(n);
  await nextTurn();
  expect(resolved).toBe(1499);
  expect(counted()).toBe(0);
});
