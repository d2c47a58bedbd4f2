import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReplyDeadlines, type Waiting } from './reply-deadlines.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Something that waits, and counts how often its time was over. */
function waiter(line: ReplyDeadlines, due = line.due()): Waiting & { expired: number } {
  const waiting = {
    due,
    before: undefined,
    after: undefined,
    expired: 0,
    expire() {
      waiting.expired += 1;
      if (waiting.expired > 1) throw new Error('it was over already');
    },
  };
  line.join(waiting);
  return waiting;
}

test('each that waits is over after its time, once', () => {
  const line = new ReplyDeadlines(10);
  const first = waiter(line);
  vi.advanceTimersByTime(5);
  const second = waiter(line);
  const third = waiter(line);
  vi.advanceTimersByTime(5);
  expect([first, second, third].map(({ expired }) => expired)).toEqual([1, 0, 0]);
  vi.advanceTimersByTime(5);
  expect([first, second, third].map(({ expired }) => expired)).toEqual([1, 1, 1]);
  expect(vi.getTimerCount()).toBe(0);
  const fourth = waiter(line);
  vi.advanceTimersByTime(10);
  expect(fourth.expired).toBe(1);
});

test('what is due within the millisecond in which the timer fires is over with it', () => {
  const line = new ReplyDeadlines(10);
  const waiting = waiter(line, line.due() + 0.9);
  vi.advanceTimersByTime(10);
  expect(waiting.expired).toBe(1);
});

test('what has left is not over, however often it leaves', () => {
  const line = new ReplyDeadlines(10);
  const [first, second, third] = [waiter(line), waiter(line), waiter(line)];
  line.leave(first);
  line.leave(second);
  line.leave(first);
  vi.advanceTimersByTime(10);
  expect([first, second, third].map(({ expired }) => expired)).toEqual([0, 0, 1]);
  line.leave(third);
});
