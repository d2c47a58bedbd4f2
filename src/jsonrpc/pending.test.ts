import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RpcError } from './errors.ts';
import { errorResponse, resultResponse, type Request } from './message.ts';
import { PendingRequests } from './pending.ts';
import type { TimeLimits } from '../base/deadline.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  if (vi.getTimerCount() > 0) throw new Error('a timer was left behind');
  vi.useRealTimers();
});

const NO_LIMITS: TimeLimits = { timeout: 0, maxTimeout: 0 };

function setUp() {
  const pending = new PendingRequests();
  const sent: Request[] = [];
  const expired: unknown[] = [];
  const open = (limits = NO_LIMITS) =>
    pending.open(
      'm',
      undefined,
      limits,
      (message) => {
        sent.push(message);
        return Promise.resolve();
      },
      (id, reason) => void expired.push([id, reason]),
    );
  return { pending, sent, expired, open };
}

test('a response settles the request of its id', async () => {
  const { pending, sent, open } = setUp();
  const first = open();
  const second = open();
  expect(sent).toEqual([
    { jsonrpc: '2.0', id: first.id, method: 'm' },
    { jsonrpc: '2.0', id: second.id, method: 'm' },
  ]);
  expect(pending.settle(errorResponse(second.id, { code: 7, message: 'no', data: 1 }))).toBe(true);
  expect(pending.settle(resultResponse(first.id, { a: 1 }))).toBe(true);
  expect(await first.result).toEqual({ a: 1 });
  await expect(second.result).rejects.toMatchObject({ code: 7, message: 'no', data: 1 });
  expect(pending.size).toBe(0);
});

test('a few requests fail in each turn of the event loop when the connection closes', async () => {
  const { pending, open } = setUp();
  let failed = 0;
  const all = Array.from({ length: 3000 }, () => open().result.catch(() => (failed += 1)));
  pending.close(new Error('gone'));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(failed).toBeLessThan(100);
  await expect(open().result).rejects.toThrow('gone');
  await Promise.all(all);
  expect([failed, pending.size]).toEqual([3000, 0]);
});

test('a response that is late or repeated, or has a wrong id or none, settles nothing', async () => {
  const { pending, open } = setUp();
  const { id, result } = open();
  expect(pending.settle(resultResponse(String(id), {}))).toBe(false);
  expect(pending.settle(errorResponse(undefined, { code: 1, message: '' }))).toBe(false);
  expect(pending.settle(resultResponse(id, {}))).toBe(true);
  expect(pending.settle(resultResponse(id, {}))).toBe(false);
  await result;
});

test('a request times out, and the caller must cancel it at the peer', async () => {
  const { pending, expired, open } = setUp();
  const { id, result } = open({ timeout: 1000, maxTimeout: 0 });
  result.catch(() => {});
  vi.advanceTimersByTime(999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  await expect(result).rejects.toMatchObject({ code: -32001, message: expect.stringContaining('1000 ms') });
  expect(expired).toEqual([[id, 'm was not answered within 1000 ms']]);
  expect(pending.settle(resultResponse(id, {}))).toBe(false);
});

test('progress extends the timeout, but not beyond the maximum', async () => {
  const { pending, expired, open } = setUp();
  const { id, result } = open({ timeout: 1000, maxTimeout: 2500 });
  result.catch(() => {});
  for (let step = 0; step < 2; step += 1) {
    vi.advanceTimersByTime(900);
    pending.extend(id);
  }
  vi.advanceTimersByTime(699);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  await expect(result).rejects.toMatchObject({ code: -32001, message: expect.stringContaining('2500 ms') });
  pending.extend(id);
});

test('a time that is too long for a timer means no limit', async () => {
  const { pending, expired, open } = setUp();
  const { id, result } = open({ timeout: 2 ** 31, maxTimeout: Infinity });
  vi.advanceTimersByTime(10_000);
  expect(expired).toEqual([]);
  pending.settle(resultResponse(id, {}));
  await result;
});

test('closing fails pending and later requests', async () => {
  const { pending, sent, open } = setUp();
  const waiting = open({ timeout: 1000, maxTimeout: 0 });
  const error = new RpcError(-32000, 'Connection closed');
  pending.close(error);
  await expect(waiting.result).rejects.toBe(error);
  await expect(open().result).rejects.toBe(error);
  expect(sent).toHaveLength(1);
});

test('cancelling rejects once', async () => {
  const { pending, open } = setUp();
  const { id, result } = open();
  expect(pending.cancel(id, new Error('enough'))).toBe(true);
  expect(pending.cancel(id, new Error('again'))).toBe(false);
  await expect(result).rejects.toThrow('enough');
});

test.each([
  ['rejects', () => Promise.reject(new Error('broken pipe'))],
  [
    'throws',
    () => {
      throw new Error('broken pipe');
    },
  ],
])('a request fails if sending it %s', async (_, transmit) => {
  const pending = new PendingRequests();
  const { result } = pending.open('m', {}, { timeout: 1000, maxTimeout: 0 }, transmit);
  await expect(result).rejects.toThrow('broken pipe');
  expect(pending.size).toBe(0);
});
