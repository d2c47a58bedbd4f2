import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadline } from './deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function timer() {
  const onexpired = vi.fn<() => void>();
  const person = { until: 0 };
  const deadline = new Deadline({ timeout: 1000 }, onexpired, () => person.until);
  return { onexpired, person, deadline };
}

test('a limit passes after its time', () => {
  const { onexpired } = timer();
  vi.advanceTimersByTime(999);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test('a limit does not pass during a login, and starts again after it', () => {
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

test('earlier logins have no effect', () => {
  vi.advanceTimersByTime(5000);
  const { onexpired, person } = timer();
  person.until = Date.now() - 1;
  vi.advanceTimersByTime(1000);
  expect(onexpired).toHaveBeenCalledOnce();
});

test.each([0, 2 ** 31, Infinity])('an infinite limit never passes: %d', (limit) => {
  const onexpired = vi.fn<() => void>();
  void new Deadline({ timeout: limit }, onexpired);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(10_000);
  expect(onexpired).not.toHaveBeenCalled();
});

test('a limit can be ended during a login', () => {
  const { onexpired, person, deadline } = timer();
  person.until = Infinity;
  vi.advanceTimersByTime(5000);
  deadline.clear();
  expect(vi.getTimerCount()).toBe(0);
  person.until = 0;
  vi.advanceTimersByTime(5000);
  expect(onexpired).not.toHaveBeenCalled();
});

test('a clock that is set back does not lengthen a limit after a login', () => {
  const { onexpired, person } = timer();
  person.until = Infinity;
  vi.advanceTimersByTime(3000);
  person.until = Date.now();
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(2000);
  expect(onexpired).toHaveBeenCalledOnce();
});

test.each([-1, 1])('the maximum passes after its time if the clock is changed by %i hours', (hours) => {
  const onexpired = vi.fn<(limit: number) => void>();
  const deadline = new Deadline({ timeout: 1000, maxTimeout: 5000 }, onexpired);
  vi.setSystemTime(Date.now() + hours * 3_600_000);
  for (let n = 0; n < 9; n += 1) {
    vi.advanceTimersByTime(500);
    deadline.extend();
  }
  vi.advanceTimersByTime(499);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledExactlyOnceWith(5000);
});

test('a pause within a pause sets no timer', () => {
  const onexpired = vi.fn<(limit: number) => void>();
  const deadline = new Deadline({ timeout: 1000, maxTimeout: 5000 }, onexpired);
  deadline.hold();
  const set = vi.spyOn(globalThis, 'setTimeout');
  for (let n = 0; n < 1000; n += 1) deadline.hold();
  vi.advanceTimersByTime(2000);
  for (let n = 0; n < 1000; n += 1) deadline.release();
  expect(set).not.toHaveBeenCalled();
  deadline.release();
  vi.advanceTimersByTime(999);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledExactlyOnceWith(1000);
});
