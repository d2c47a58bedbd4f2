import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stderrRelay } from './stderr-relay.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a server’s stderr is passed on unchanged', () => {
  const written: string[] = [];
  const line = stderrRelay((text) => void written.push(text));
  for (const text of ['one', '', 'two']) line(text);
  expect(written).toEqual(['one', '', 'two']);
});

test('the output is limited each second, and the omitted lines are counted', () => {
  const written: string[] = [];
  const line = stderrRelay((text) => void written.push(text));
  const kilobyte = 'x'.repeat(960);
  for (let count = 0; count < 10_000; count += 1) line(kilobyte);
  expect(written).toHaveLength(256);
  vi.advanceTimersByTime(1000);
  expect(written.slice(256)).toEqual(['(9744 lines were left out: the server wrote too much)']);
  line('again');
  expect(written.at(-1)).toBe('again');
  for (let count = 0; count < 300; count += 1) line(kilobyte);
  vi.advanceTimersByTime(999);
  vi.setSystemTime(Date.now() + 1);
  vi.advanceTimersByTime(1);
  expect(written.at(-1)).toMatch(/^\(\d+ lines were left out/);
  vi.advanceTimersByTime(60_000);
  expect(written.filter((text) => text.startsWith('('))).toHaveLength(2);
});

test('at most 4,096 lines are passed on in a second, however short they are', () => {
  const written: string[] = [];
  const line = stderrRelay((text) => void written.push(text));
  for (let count = 0; count < 100_000; count += 1) line('');
  expect(written).toHaveLength(4096);
  vi.advanceTimersByTime(1000);
  expect(written.slice(4096)).toEqual(['(95904 lines were left out: the server wrote too much)']);
});

test('at most 1 MiB waits for a slow reader', () => {
  const written: string[] = [];
  let unread = 0;
  const line = stderrRelay(
    (text) => {
      written.push(text);
      unread += text.length + 1;
    },
    () => unread,
  );
  for (let second = 0; second < 60; second += 1) {
    for (let count = 0; count < 256; count += 1) line('x'.repeat(960));
    vi.advanceTimersByTime(1000);
  }
  expect(unread).toBeLessThan(1.1 * 1024 * 1024);
  expect(written.filter((text) => text.startsWith('('))).toEqual([]);
  unread = 0;
  vi.advanceTimersByTime(1000);
  expect(written.at(-1)).toMatch(/^\(\d{5} lines were left out/);
  line('again');
  expect(written.at(-1)).toBe('again');
});

test('at the end, the omitted lines are counted at once', () => {
  const written: string[] = [];
  const line = stderrRelay((text) => void written.push(text));
  line('x'.repeat(1024 * 1024));
  line();
  line();
  expect(written).toEqual(['(1 lines were left out: the server wrote too much)']);
});
