import { expect, test } from 'vitest';
import { jsonWeight, weightOf } from './weight.ts';

test.each([
  ['text', { message: 'x'.repeat(1000) }],
  ['empty objects', Array.from({ length: 1000 }, () => ({}))],
  ['empty arrays', Array.from({ length: 1000 }, () => [])],
  ['numbers', Array.from({ length: 1000 }, (_, n) => n)],
  ['members', Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`key-${n}`, n]))],
  ['objects', Array.from({ length: 100 }, (_, n) => ({ key: String(n), list: [null, true] }))],
])('a parsed value weighs about as much as its JSON text: %s', (_, value) => {
  const weight = jsonWeight(Buffer.from(JSON.stringify(value)));
  expect(weightOf(value)).toBeGreaterThan(weight * 0.75);
  expect(weightOf(value)).toBeLessThan(weight * 1.25);
});

test('an empty object counts as its size in memory, not as two characters', () => {
  expect(weightOf(Array.from({ length: 1000 }, () => ({})))).toBeGreaterThan(64_000);
});

test('a value may have any number of levels', () => {
  let deep: object = {};
  for (let n = 0; n < 100_000; n += 1) deep = { deep };
  expect(weightOf(deep)).toBeGreaterThan(6_400_000);
});

test('a value that is no JSON is counted at once, whatever length it claims', () => {
  const holes: unknown[] = [];
  holes.length = 2 ** 32 - 1;
  expect(weightOf({ holes }, 5000)).toBeGreaterThan(5000);
  expect(weightOf(new Uint8Array(20_000_000), 5000)).toBeGreaterThan(5000);
  // It has too many keys for `Object.keys`, which throws after some seconds.
  expect(weightOf(new String('x'.repeat(200_000_000)), 5000)).toBeGreaterThan(5000);
});

test('counting stops soon after the limit', () => {
  const list = Array.from({ length: 1000 }, () => 'x'.repeat(1000));
  expect(weightOf(list, 5000)).toBeGreaterThan(5000);
  expect(weightOf(list, 5000)).toBeLessThan(7000);
});
