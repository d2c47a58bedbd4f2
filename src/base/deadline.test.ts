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

test('a hold stops the time, and what was left of it is left afterwards', () => {
  const { onexpired, deadline } = timer();
  vi.advanceTimersByTime(700);
  deadline.hold();
  vi.advanceTimersByTime(60_000);
  deadline.release();
  vi.advanceTimersByTime(299);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledOnce();
});

test.each([0.1, 0.4, 1, 100])('holds that end at once do not lengthen a limit, one each %d ms', (pause) => {
  const { onexpired, deadline } = timer();
  const start = performance.now();
  while (onexpired.mock.calls.length === 0 && performance.now() - start < 2000) {
    vi.advanceTimersByTime(pause);
    if (onexpired.mock.calls.length > 0) break;
    deadline.hold();
    deadline.release();
  }
  expect(onexpired).toHaveBeenCalledOnce();
  // A timer counts whole milliseconds.
  expect(performance.now() - start).toBeGreaterThanOrEqual(999);
  expect(performance.now() - start).toBeLessThanOrEqual(1000 + pause);
});

test('progress during a hold restarts the time after it', () => {
  const { onexpired, deadline } = timer();
  vi.advanceTimersByTime(900);
  deadline.hold();
  deadline.extend();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(5000);
  deadline.release();
  vi.advanceTimersByTime(999);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledOnce();
});

test('a hold needs no limit', () => {
  const onexpired = vi.fn<() => void>();
  const deadline = new Deadline({ timeout: 0, maxTimeout: 5000 }, onexpired);
  deadline.hold();
  vi.advanceTimersByTime(1000);
  deadline.release();
  vi.advanceTimersByTime(3999);
  expect(onexpired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onexpired).toHaveBeenCalledExactlyOnceWith(5000);
});

// Times of the login, and of the hold. All begin before the limit would pass.
test.each([
  [200, 400, 500, 700, 1600],
  [200, 600, 500, 700, 1700],
  [200, 1600, 500, 700, 2600],
  [500, 600, 400, 700, 1700],
  [500, 900, 400, 700, 1900],
])('a login from %d to %d and a hold from %d to %d end a limit at %d', (login, loggedIn, held, released, end) => {
  const { onexpired, person, deadline } = timer();
  for (let now = 0; now < end; now += 1) {
    if (now === login) person.until = Infinity;
    if (now === loggedIn) person.until = Date.now();
    if (now === held) deadline.hold();
    if (now === released) deadline.release();
    expect(onexpired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
  }
  expect(onexpired).toHaveBeenCalledOnce();
});
