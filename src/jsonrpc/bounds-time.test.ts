import { expect, test } from 'vitest';
import { hasMoreUnpairedSurrogates } from './bounds.ts';

test('a text of escapes is searched for surrogates as quickly as any other', () => {
  const text = '\\\\'.repeat(8_000_000);
  const started = process.cpuUsage();
  for (let times = 0; times < 20; times += 1) expect(hasMoreUnpairedSurrogates(text, 0)).toBe(false);
  expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
});
