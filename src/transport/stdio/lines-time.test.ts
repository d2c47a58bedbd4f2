import { expect, test } from 'vitest';
import { LineReader } from './lines.ts';

test('a large line in many chunks takes linear time', () => {
  const size = 2 ** 22;
  const found: string[] = [];
  const reader = new LineReader({ line: (text) => found.push(text), invalidUtf8: () => {}, tooLong: () => {} }, size);
  const large = Buffer.alloc(size, 'x');
  const started = performance.now();
  for (let n = 0; n < size; n += 16) reader.push(large.subarray(n, n + 16));
  reader.push(Uint8Array.of(10));
  expect(found.map(({ length }) => length)).toEqual([size]);
  // If each chunk copied the line again, that would be half a terabyte.
  expect(performance.now() - started).toBeLessThan(20_000);
});
