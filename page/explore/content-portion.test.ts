import { expect, test } from 'vitest';
import { contentPortion } from './content-portion.ts';

const parts = (length: number, part: unknown): unknown[] => Array.from({ length }, () => part);
const text = (length: number): unknown => ({ type: 'text', text: 'x'.repeat(length) });

test.each([
  ['100 short texts', parts(120, text(400)), 100],
  ['few long texts', parts(120, text(20_000)), 4],
  ['few texts with many annotations', parts(120, { type: 'text', text: 'x', annotations: parts(300, 'y') }), 3],
  ['100 images', parts(120, { type: 'image', data: 'x'.repeat(20_000) }), 100],
  ['one part that is too large', parts(3, text(1_000_000)), 1],
  ['what is left', parts(3, text(10)), 3],
  ['nothing', [], 0],
])('a portion has %s', (_, list, count) => {
  expect(contentPortion(list, 0)).toBe(count);
});

test('the next portion begins where the one before it ended', () => {
  expect(contentPortion([text(90_000), text(10), text(99_000), text(10)], 0)).toBe(2);
  expect(contentPortion([text(90_000), text(10), text(99_000), text(10)], 2)).toBe(2);
});
