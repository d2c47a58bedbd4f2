import { expect, test } from 'vitest';
import { paced } from './paced.ts';
import { nextTurn } from './wait.ts';

/**
 * Runs handlers that only await their notifications. Returns how many went out in each turn of the event loop, and whose they
 * were, in order.
 *
 * @param work how long they compute between notifications. Milliseconds.
 */
async function send(handlers: number, each: number, work = 0): Promise<{ turns: number[]; order: number[] }> {
  const order: number[] = [];
  const turns: number[] = [];
  const handle = async (handler: number): Promise<void> => {
    for (let i = 0; i < each; i += 1) {
      if (i > 0) compute(work);
      order.push(handler);
      await paced(Promise.resolve());
    }
  };
  const all = Array.from({ length: handlers }, (_, handler) => handle(handler));
  let seen = order.length;
  while (seen < handlers * each) {
    await nextTurn();
    turns.push(order.length - seen);
    seen = order.length;
  }
  await Promise.all(all);
  await nextTurn();
  // In the first turn, handlers have also begun.
  return { turns: turns.slice(1), order };
}

function compute(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('a hundred notifications at most go out in one turn of the event loop, of however many handlers', async () => {
  const { turns, order } = await send(120, 400);
  expect(Math.max(...turns)).toBeLessThanOrEqual(100);
  // They take turns. Each has sent one to begin.
  const sent = Array.from({ length: 120 }, () => 0);
  for (const handler of order.slice(0, 120 * 200)) sent[handler]! += 1;
  expect(Math.min(...sent)).toBeGreaterThanOrEqual(2);
});

test('handlers that compute for long wait for turns of their own', async () => {
  const { turns } = await send(110, 3, 2);
  expect(Math.max(...turns)).toBe(1);
});

test('one handler alone sends many in one turn', async () => {
  const { turns } = await send(1, 1000);
  expect(turns.length).toBeLessThan(200);
});

test('a handler that begins does not wait for all others', async () => {
  const others = send(100, 3, 2);
  await nextTurn();
  let turns = 0;
  const counted = (async () => {
    while (turns < 50) {
      await nextTurn();
      turns += 1;
    }
  })();
  await nextTurn();
  for (let i = 0; i < 3; i += 1) await paced(Promise.resolve());
  expect(turns).toBeLessThan(10);
  await counted;
  await others;
});

test('a notification that could not be sent fails at once, and need not be awaited', async () => {
  const failed = Array.from({ length: 200 }, () => paced(Promise.reject(new Error('gone'))));
  const results = await Promise.allSettled(failed);
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
});
