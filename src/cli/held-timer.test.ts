import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HeldTimer } from './held-timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('fires when the time is over', () => {
  const timer = new HeldTimer(1000, 'too late');
  vi.advanceTimersByTime(999);
  expect(timer.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(timer.signal.reason).toMatchObject({ name: 'TimeoutError', message: 'too late', limit: 1000 });
});

test('stands still while it is held, and begins anew', async () => {
  const timer = new HeldTimer(1000, 'too late');
  vi.advanceTimersByTime(900);
  expect(await timer.hold(async () => vi.advanceTimersByTime(60_000) && 'done')).toBe('done');
  vi.advanceTimersByTime(900);
  expect(timer.signal.aborted).toBe(false);
  await expect(timer.hold(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  vi.advanceTimersByTime(1000);
  expect(timer.signal.aborted).toBe(true);
});

test('never fires after its end, whatever is held then', async () => {
  const timer = new HeldTimer(1000, 'too late');
  timer.end();
  await timer.hold(() => Promise.resolve());
  expect(vi.getTimerCount()).toBe(0);
});
