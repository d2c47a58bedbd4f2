import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { ModernHttp } from '../../test/support/modern.ts';
import type { Caller } from '../core/exchange.ts';
import { rateLimit } from './rate-limit.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const call = (caller: Partial<Caller> = {}, method = 'tools/call'): TestExchange =>
  new TestExchange(method, {}, { caller });
const service = (options: Parameters<typeof rateLimit>[0]) => rateLimit(options)(() => Promise.resolve({ done: true }));

test('a caller can make a number of requests at once, and more as time passes', async () => {
  const limited = service({ perMinute: 60, burst: 2 });
  await limited(call());
  await limited(call());
  await expect(limited(call())).rejects.toMatchObject({ code: 429, data: { retryAfterMs: 1000 } });
  vi.advanceTimersByTime(990);
  await expect(limited(call())).rejects.toMatchObject({ code: 429 });
  vi.advanceTimersByTime(11);
  expect(await limited(call())).toEqual({ done: true });
  vi.advanceTimersByTime(60_000);
  await limited(call());
  await limited(call());
  await expect(limited(call())).rejects.toMatchObject({ code: 429 });
});

test('each principal and each session has its own limit', async () => {
  const limited = service({ perMinute: 1 });
  const session = (id: string) => ({ session: { id, signal: new AbortController().signal } });
  for (const caller of [{ principal: 'a' }, { principal: 'b' }, session('1'), session('2'), {}]) {
    await limited(call(caller));
    await expect(limited(call(caller))).rejects.toMatchObject({ code: 429 });
  }
  // A session of a principal counts for the principal.
  await expect(limited(call({ principal: 'a', ...session('3') }))).rejects.toMatchObject({ code: 429 });
});

test('callers can be identified in another way', async () => {
  const limited = service({ perMinute: 1, key: ({ params }) => String(params['who']) });
  await limited(new TestExchange('tools/call', { who: 'a' }));
  await limited(new TestExchange('tools/call', { who: 'b' }));
  await expect(limited(new TestExchange('tools/call', { who: 'a' }))).rejects.toMatchObject({ code: 429 });
});

test('only the named methods are counted', async () => {
  const limited = service({ perMinute: 1 });
  for (let n = 0; n < 5; n += 1) await limited(call({}, 'tools/list'));
  await limited(call({}, 'completion/complete'));
  await expect(limited(call())).rejects.toMatchObject({ code: 429 });
  const all = service({ perMinute: 1, methods: ['tools/list'] });
  await all(call({}, 'tools/list'));
  await expect(all(call({}, 'tools/list'))).rejects.toMatchObject({ code: 429 });
});

test('with too many callers, inactive ones are forgotten first', async () => {
  const limited = service({ perMinute: 1 });
  await limited(call({ principal: 'first' }));
  for (let n = 0; n < 10_000; n += 1) await limited(call({ principal: String(n) }));
  expect(await limited(call({ principal: 'first' }))).toEqual({ done: true });
  await expect(limited(call({ principal: '9999' }))).rejects.toMatchObject({ code: 429 });
});

test('over HTTP, a refusal has the status 429', async () => {
  const http = new ModernHttp(service({ perMinute: 1 }));
  expect((await http.json('tools/call', { name: 'a' })).status).toBe(200);
  expect(await http.json('tools/call', { name: 'a' })).toMatchObject({ status: 429, body: { error: { code: 429 } } });
});

test.each([{ perMinute: 0 }, { perMinute: 1, burst: 0.5 }, { perMinute: Number.NaN }])(
  'invalid options are refused: %j',
  (options) => {
    expect(() => rateLimit(options)).toThrow(RangeError);
  },
);
