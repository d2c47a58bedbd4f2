import { expect, test } from 'vitest';
import { oneLine } from './screen.ts';

test('a line is cut at 16,384 characters', () => {
  expect(oneLine('x'.repeat(16_384))).toBe('x'.repeat(16_384));
  expect(oneLine('x'.repeat(16_385))).toBe(`${'x'.repeat(16_384)}…`);
});

test('a very long text becomes a line in little time', () => {
  const text = 'a\t'.repeat(8_000_000);
  const started = process.cpuUsage();
  oneLine(text);
  expect(process.cpuUsage(started).user).toBeLessThan(100_000);
});
