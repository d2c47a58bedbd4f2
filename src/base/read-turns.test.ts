import { expect, test } from 'vitest';
import { ReadTurns, SLICE } from './read-turns.ts';
import { nextTurn } from './wait.ts';

/** Waits until all that can go on in this turn of the event loop has done so. */
const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(() => queueMicrotask(resolve)));

/** Starts reads of one share. Each counts itself in `ran`. */
function start(turns: ReadTurns, ran: string[], share: string, count: number, length = SLICE): Promise<unknown> {
  const reads = Array.from({ length: count }, () =>
    turns.run(share, async () => {
      ran.push(share);
      return length;
    }),
  );
  return Promise.all(reads);
}

test('a few slices are read in each turn of the event loop, and the others in the next ones', async () => {
  const turns = new ReadTurns();
  const ran: string[] = [];
  const done = start(turns, ran, 'a', 10);
  await settled();
  expect(ran).toHaveLength(4);
  await nextTurn();
  await settled();
  expect(ran).toHaveLength(8);
  await done;
  expect(ran).toHaveLength(10);
});

test('short slices need no further turns', async () => {
  const ran: string[] = [];
  const done = start(new ReadTurns(), ran, 'a', 100, 100);
  let turns = 0;
  setImmediate(() => (turns += 1));
  await done;
  expect([ran.length, turns]).toEqual([100, 0]);
});

test('one that waits is read soon, however many of others wait', async () => {
  const turns = new ReadTurns();
  const ran: string[] = [];
  const all = start(turns, ran, 'many', 50);
  await start(turns, ran, 'one', 1);
  expect(ran.length).toBeLessThan(10);
  await all;
  expect(ran).toHaveLength(51);
});

test('a share reads little at a time, and reads that do not end only keep their own share waiting', async () => {
  const turns = new ReadTurns();
  let begun = 0;
  const endless = (): Promise<number> => {
    begun += 1;
    return new Promise(() => {});
  };
  for (let count = 0; count < 50; count += 1) void turns.run('stuck', endless);
  for (let count = 0; count < 50; count += 1) await nextTurn();
  expect(begun).toBe(8);
  const ran: string[] = [];
  await start(turns, ran, 'other', 20);
  expect(ran).toHaveLength(20);
});

test('after a read that fails, others go on', async () => {
  const turns = new ReadTurns();
  const failing = Array.from({ length: 20 }, () => turns.run('a', () => Promise.reject(new Error('gone'))));
  const results = await Promise.allSettled(failing);
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  const ran: string[] = [];
  await start(turns, ran, 'a', 20);
  expect(ran).toHaveLength(20);
});
