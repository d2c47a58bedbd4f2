import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { attendedTimer } from './attendance.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function timer() {
  const onexpired = vi.fn<() => void>();
  const person = { until: 0 };
  const end = attendedTimer(1000, () => person.until, onexpired);
  return { onexpired, person, end };
}

test('a limit is over when its time is', () => {
  const { onexpired } = timer();
  vi.advanceTimersByTime(999);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test('it is not over while a person is busy, however long, and counts from when they are done', () => {
  const { onexpired, person } = timer();
  vi.advanceTimersByTime(500);
  person.until = Infinity;
  vi.advanceTimersByTime(60_300);
  person.until = Date.now();
  vi.advanceTimersByTime(999);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledOnce();
});

test('who was busy before it was set does not matter', () => {
  vi.advanceTimersByTime(5000);
  const { onexpired, person } = timer();
  person.until = Date.now() - 1;
  vi.advanceTimersByTime(1000);
  expect(onexpired).toHaveBeenCalledOnce();
});

test.each([0, 2 ** 31, Infinity])('a limit that is for ever is never over: %d', (limit) => {
  const onexpired = vi.fn<() => void>();
  attendedTimer(limit, () => 0, onexpired)();
  expect(vi.getTimerCount()).toBe(0);
  attendedTimer(limit, () => 0, onexpired);
  vi.advanceTimersByTime(10_000);
  expect(onexpired).not.toHaveBeenCalled();
});

test('it can be ended, though a person was busy', () => {
  const { onexpired, person, end } = timer();
  person.until = Infinity;
  vi.advanceTimersByTime(5000);
  end();
  expect(vi.getTimerCount()).toBe(0);
  person.until = 0;
  vi.advanceTimersByTime(5000);
  expect(onexpired).not.toHaveBeenCalled();
});
