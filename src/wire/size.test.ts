import { expect, test } from 'vitest';
import { sizeOf } from './size.ts';

test('the size of a value is about that of its JSON, however deep it is nested', () => {
  const params = { message: 'x'.repeat(1000), list: Array.from({ length: 100 }, (_, n) => ({ key: String(n) })) };
  const { length } = JSON.stringify(params);
  expect(sizeOf(params)).toBeGreaterThan(length / 2);
  expect(sizeOf(params)).toBeLessThan(length * 2);
  let deep: object = {};
  for (let n = 0; n < 100_000; n += 1) deep = { deep };
  expect(sizeOf(deep)).toBeGreaterThan(400_000);
});
