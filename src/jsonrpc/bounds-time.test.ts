import { expect, test } from 'vitest';
import { shortestProcessorTime } from '../../test/support/processor-time.ts';
import { hasMoreUnpairedSurrogates } from './bounds.ts';
import { parseJson } from './parse.ts';

test('a text of escapes is searched for surrogates as quickly as any other', () => {
  const text = '\\\\'.repeat(8_000_000);
  const started = process.cpuUsage();
  for (let times = 0; times < 20; times += 1) expect(hasMoreUnpairedSurrogates(text, 0)).toBe(false);
  expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
});

test('a text of letters that is not JSON is refused within 250 ms', () => {
  const text = `1e300${'e'.repeat(16_000_000)}`;
  expect(shortestProcessorTime(() => expect(() => parseJson(text)).toThrow('not valid JSON'))).toBeLessThan(250);
});
