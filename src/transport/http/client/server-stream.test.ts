import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AnswerLost } from './errors.ts';
import type { HttpReply } from './http.ts';
import { ServerStream } from './server-stream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How many times a stream is connected within a minute if each connection gets this text and ends. */
async function connections(text: (count: number) => string): Promise<number> {
  let count = 0;
  const stream = new ServerStream(1, {
    connect: () => {
      count += 1;
      const reply: HttpReply = {
        status: 200,
        header: () => 'text/event-stream',
        text: () => Promise.resolve(''),
        discard: () => {},
        async *chunks() {
          yield Buffer.from(text(count));
        },
      };
      return Promise.resolve(reply);
    },
    onmessage: () => {},
    caughtUp: () => undefined,
    alwaysReconnects: true,
    idleTimeout: 0,
    maxEventLength: 1000,
    peer: 'a',
    reconnection: {},
  });
  const followed = stream.follow().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  const within = count;
  stream.stop(new AnswerLost('enough'));
  await vi.advanceTimersByTimeAsync(0);
  await followed;
  return within;
}

test('a stream with only a priming event is reconnected with growing pauses', async () => {
  const count = await connections((n) => `id: ${n}\ndata:\n\n`);
  expect(count).toBeGreaterThan(8);
  expect(count).toBeLessThan(20);
});

test('a stream with a priming event and a retry time below one second is reconnected about once a second', async () => {
  const count = await connections((n) => `id: ${n}\nretry: 1\ndata:\n\n`);
  expect(count).toBeGreaterThan(45);
  expect(count).toBeLessThan(80);
});

test('a stream with a priming event and a longer retry time is reconnected at that rate', async () => {
  const count = await connections((n) => `id: ${n}\nretry: 2000\ndata:\n\n`);
  expect(count).toBeGreaterThan(25);
  expect(count).toBeLessThan(32);
});

test('a stream without any event fails after some attempts', async () => {
  expect(await connections(() => ': hello\n\n')).toBe(9);
});

test('a stream with messages is reconnected at once', async () => {
  expect(await connections((n) => `id: ${n}\ndata: {}\n\n`)).toBeGreaterThan(500);
});

test('a stream with messages that ends at once is reconnected at most ten times a second, whatever its `retry`', async () => {
  expect(await connections((n) => `id: ${n}\nretry: 0\ndata: {}\n\n`)).toBeLessThanOrEqual(600);
  expect(await connections(() => 'retry: 0\ndata: {}\n\n')).toBeLessThanOrEqual(600);
});

test('a stream without messages that ends at once fails after some attempts, whatever its `retry`', async () => {
  expect(await connections(() => 'retry: 0\n\n')).toBe(9);
});

test('events that are not messages do not count as messages', async () => {
  const count = await connections((n) => `id: ${n}\nretry: 0\nevent: ping\ndata: {}\n\n`);
  expect(count).toBeGreaterThan(45);
  expect(count).toBeLessThan(80);
});
