import { expect, test } from 'vitest';
import type { Envelope } from '../../jsonrpc/skim.ts';
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

test('a line above the limit that repeats its id is skipped in little time', () => {
  const ids: unknown[] = [];
  const sink = {
    line: () => {},
    invalidUtf8: () => {},
    tooLong: () => {},
    skipped: ({ id }: Envelope) => ids.push(id),
  };
  const reader = new LineReader(sink, 2 ** 24);
  const line = Buffer.from(`{${'"id":1,'.repeat(2 ** 24 / 7)}"id":1}\n`);
  const started = performance.now();
  reader.push(line);
  expect(ids).toEqual([1]);
  // Reading each id takes more than a second, and holds the event loop.
  expect(performance.now() - started).toBeLessThan(1000);
});
