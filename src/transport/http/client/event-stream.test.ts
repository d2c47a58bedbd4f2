import { expect, test } from 'vitest';
import { Lifetime } from '../../../base/lifetime.ts';
import { inShortTurns } from '../../../base/short-turns.ts';
import { readEvents } from './event-stream.ts';
import type { HttpReply } from './http.ts';

const CHUNK = 64 * 1024;

/** Reads chunks that are all there already. Returns how many events came before other work got a turn. */
async function eventsBeforeTurn(text: string, chunks: number): Promise<{ before: number; after: number }> {
  const chunk = Buffer.from(text.repeat(CHUNK / text.length));
  const reply = {
    async *chunks() {
      for (let n = 0; n < chunks; n += 1) yield chunk;
    },
  } as Partial<HttpReply> as HttpReply;
  let events = 0;
  let before = -1;
  setImmediate(() => (before = events));
  const options = { idleTimeout: 0, maxEventLength: CHUNK, peer: 'a', cancellation: new Lifetime() };
  await readEvents(reply, { ...options, onevent: () => void (events += 1) });
  return { before, after: events };
}

test('thousands of events in one chunk do not block other work', async () => {
  const { before, after } = await eventsBeforeTurn('data:{\n\n', 1);
  expect(after).toBe(CHUNK / 8);
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(1000);
});

test('comments without events do not block other work', async () => {
  expect(await eventsBeforeTurn(': \n\n', 10)).toEqual({ before: 0, after: 0 });
});

test('a server does not count as silent while a large event of it waits for its turn', async () => {
  const reply = {
    async *chunks() {
      yield Buffer.from(`data: ${'x'.repeat(CHUNK / 2)}\n\n`);
    },
  } as Partial<HttpReply> as HttpReply;
  const busy = (): void => {
    const end = performance.now() + 25;
    while (performance.now() < end);
  };
  const others = Array.from({ length: 10 }, async (_, n) => inShortTurns(busy, `other ${n}`));
  let events = 0;
  await readEvents(reply, {
    idleTimeout: 100,
    maxEventLength: CHUNK,
    peer: 'a',
    cancellation: new Lifetime(),
    onevent: () => void (events += 1),
  });
  await Promise.all(others);
  expect(events).toBe(1);
});
