import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deferred } from './deferred.ts';
import { TimeLimit } from './time-limit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const late = (): Error => new Error('late');

/** How a promise has settled so far. */
function outcomeOf(promise: Promise<unknown>): { now: unknown } {
  const outcome: { now: unknown } = { now: undefined };
  promise.then(
    (value) => (outcome.now = value),
    (error: Error) => (outcome.now = error.message),
  );
  return outcome;
}

test('work that is done in time settles as it is, and leaves no timer', async () => {
  const limit = new TimeLimit(1000);
  expect(await limit.within(Promise.resolve('done'), late)).toBe('done');
  await expect(limit.within(Promise.reject(new Error('failed')), late)).rejects.toThrow('failed');
  await vi.advanceTimersByTimeAsync(100);
  expect(vi.getTimerCount()).toBe(0);
});

test('work ends when its own time is over, and at most a tenth later', async () => {
  const limit = new TimeLimit(1000);
  const first = outcomeOf(limit.within(new Promise(() => {}), late));
  await vi.advanceTimersByTimeAsync(550);
  const second = outcomeOf(limit.within(new Promise(() => {}), late));
  await vi.advanceTimersByTimeAsync(449);
  expect(first.now).toBeUndefined();
  await vi.advanceTimersByTimeAsync(101);
  expect([first.now, second.now]).toEqual(['late', undefined]);
  await vi.advanceTimersByTimeAsync(449);
  expect(second.now).toBeUndefined();
  await vi.advanceTimersByTimeAsync(101);
  expect(second.now).toBe('late');
  expect(vi.getTimerCount()).toBe(0);
});

test('work that is never done does not delay the end of later work', async () => {
  const limit = new TimeLimit(1000);
  const stuck = outcomeOf(limit.within(new Promise(() => {}), late));
  const work = Array.from({ length: 3000 }, () => new Deferred<number>());
  const all = work.map(({ promise }) => limit.within(promise, late));
  for (const [n, { resolve }] of work.entries()) resolve(n);
  expect(await Promise.all(all)).toEqual(work.map((_, n) => n));
  const last = outcomeOf(limit.within(new Promise(() => {}), late));
  await vi.advanceTimersByTimeAsync(1100);
  expect([stuck.now, last.now]).toEqual(['late', 'late']);
});

test('what comes after the time is over is ignored', async () => {
  const limit = new TimeLimit(1000);
  const work = new Deferred<string>();
  const outcome = outcomeOf(limit.within(work.promise, late));
  await vi.advanceTimersByTimeAsync(1100);
  work.reject(new Error('too late'));
  await vi.advanceTimersByTimeAsync(1100);
  expect(outcome.now).toBe('late');
});
