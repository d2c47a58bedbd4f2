import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { unrepeated } from './repetition.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function writing() {
  const lines: string[] = [];
  return { lines, write: unrepeated((line) => void lines.push(line)) };
}

test('the same line is written 20 times in 10 seconds, and then counted', () => {
  const { lines, write } = writing();
  for (let id = 1; id <= 4332; id += 1) write(`A response came for ${id}, but no request with this id is open`);
  expect(lines).toHaveLength(20);
  expect(lines[19]).toBe('A response came for 20, but no request with this id is open');
  vi.advanceTimersByTime(9999);
  expect(lines).toHaveLength(20);
  vi.advanceTimersByTime(1);
  expect(lines.slice(20)).toEqual([
    '… and 4,312 more within 10 s, the last: A response came for 4332, but no request with this id is open',
  ]);
  write('A response came for 1, but no request with this id is open');
  expect(lines).toHaveLength(22);
});

test('lines that differ only in quoted text count as the same', () => {
  const { lines, write } = writing();
  for (const word of 'the quick brown fox jumps over the lazy dog'.split(' ')) {
    for (const quote of ['"', "'", '`', '(']) write(`Parse error: ${quote}${word}`);
  }
  expect(lines).toHaveLength(20);
});

test('one kind of line does not suppress another, and a few lines are not counted', () => {
  const { lines, write } = writing();
  for (let count = 0; count < 30; count += 1) write('one');
  for (let count = 0; count < 20; count += 1) write('two');
  expect(lines.filter((line) => line === 'two')).toHaveLength(20);
  vi.advanceTimersByTime(10_000);
  expect(lines.filter((line) => line.startsWith('…'))).toEqual(['… and 10 more within 10 s, the last: one']);
  expect(vi.getTimerCount()).toBe(0);
});

test('the number of different lines is limited too', () => {
  const { lines, write } = writing();
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const one of letters) for (const other of letters) write(one + other);
  expect(lines).toHaveLength(16 + 20);
  vi.advanceTimersByTime(10_000);
  expect(lines.at(-1)).toBe('… and 640 more within 10 s, the last: zz');
});
