import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StderrRelay } from './stderr-relay.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('what a server says is passed on as it is', () => {
  const written: string[] = [];
  const { line } = new StderrRelay((text) => void written.push(text));
  for (const text of ['one', '', 'two']) line(text);
  expect(written).toEqual(['one', '', 'two']);
});

test('of a flood so much is passed on in a second, and what was left out is told', () => {
  const written: string[] = [];
  const { line } = new StderrRelay((text) => void written.push(text));
  const kilobyte = 'x'.repeat(1023);
  for (let count = 0; count < 10_000; count += 1) line(kilobyte);
  expect(written).toHaveLength(256);
  vi.advanceTimersByTime(1000);
  expect(written.slice(256)).toEqual(['(9744 lines were left out: it wrote more than 256 kB within a second)']);
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
