import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { allInTurns } from './all-in-turns.ts';
import { inTurns, TurnQueue } from './in-turns.ts';
import { nextTurn } from './wait.ts';

// Time stands still, however slow the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

test('the first ones are done at once, and the others in later turns, in order', async () => {
  const done: number[] = [];
  const all = inTurns(numbers(1200), (n) => void done.push(n));
  expect(done.length).toBe(500);
  await nextTurn();
  expect(done.length).toBe(1000);
  await all;
  expect(done).toEqual(numbers(1200));
});

test('fewer are done in a turn if each takes long', async () => {
  let done = 0;
  const all = inTurns(numbers(10), () => {
    done += 1;
    vi.advanceTimersByTime(15);
  });
  expect(done).toBe(2);
  await nextTurn();
  expect(done).toBe(4);
  await all;
  expect(done).toBe(10);
});

test('what is removed before its turn is left out, and what is added is done too', async () => {
  const all = new Set(numbers(1000));
  const done: number[] = [];
  const finished = inTurns(all, (n) => void done.push(n));
  all.delete(700);
  all.add(1000);
  await finished;
  expect(done).toEqual(numbers(1001).filter((n) => n !== 700));
});

test('the next one waits for the work before it', async () => {
  const steps: string[] = [];
  await inTurns(['a', 'b'], async (name) => {
    steps.push(`begin ${name}`);
    await nextTurn();
    steps.push(`end ${name}`);
  });
  expect(steps).toEqual(['begin a', 'end a', 'begin b', 'end b']);
});

test('a queue does everything that is added, in order, and nothing twice', async () => {
  const done: number[] = [];
  const queue = new TurnQueue<number>((n) => {
    done.push(n);
    if (n === 1) queue.add(2000);
  });
  for (const n of numbers(1200)) queue.add(n);
  queue.add(1100);
  expect(done).toEqual([0]);
  await vi.waitFor(() => expect(done).toEqual([...numbers(1200), 2000]));
  queue.add(7);
  expect(done.at(-1)).toBe(7);
});

test('what is started in turns may fail at once', async () => {
  const unhandled = vi.fn<(error: unknown) => void>();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const started: number[] = [];
  const all = allInTurns(numbers(2000), async (n) => {
    started.push(n);
    if (n === 1000) await new Promise(setImmediate);
    throw new Error(`failed ${n}`);
  });
  await expect(all).rejects.toThrow('failed 0');
  await new Promise(setImmediate);
  expect(started).toHaveLength(2000);
  expect(unhandled).not.toHaveBeenCalled();
});
