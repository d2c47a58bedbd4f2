import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MAX_TIMER, startTimer } from './timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([1, 1000, MAX_TIMER])('a timer fires after its time: %d', (limit) => {
  const onexpired = vi.fn<() => void>();
  startTimer(limit, onexpired);
  vi.advanceTimersByTime(limit - 1);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledOnce();
});

test.each([0, MAX_TIMER + 1, Infinity])('an infinite time sets no timer: %d', (limit) => {
  expect(startTimer(limit, () => {})).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});
