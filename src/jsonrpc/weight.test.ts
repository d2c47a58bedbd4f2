import { expect, test } from 'vitest';
import { jsonWeight, structureWeight, weightOf } from './weight.ts';

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

test.each([
  ['a character', `${'x'.repeat(10_000)}\u0100`, 20_000],
  ['a character of four bytes', `\u{1f600}${'x'.repeat(10_000)}`, 20_000],
  ['Chinese', '\u4e2d'.repeat(10_000), 20_000],
  ['only Latin-1', '\u00ff'.repeat(10_000), 10_000],
])('a text counts as two bytes for each character if one of them is beyond U+00FF: %s', (_, text, bytes) => {
  expect(weightOf(text)).toBeGreaterThanOrEqual(bytes);
  expect(weightOf({ [text]: 1 })).toBeGreaterThanOrEqual(bytes);
  expect(weightOf(text)).toBeLessThan(1.1 * bytes);
  const weight = jsonWeight(Buffer.from(JSON.stringify([text, 'short'])));
  expect(weight).toBeGreaterThanOrEqual(bytes);
  // A character of JSON may have three bytes.
  expect(weight).toBeLessThan(2.2 * bytes);
});

test('only the strings with such characters count twice, also if these are escaped', () => {
  const plain = 'x'.repeat(10_000);
  const weigh = (json: string): number => jsonWeight(Buffer.from(json));
  for (const wide of ['\u0100', String.raw`\u0100`, String.raw`\"\u0100`, String.raw`\u4e2d\"`])
    for (const text of [`${wide}${plain}`, `${plain}${wide}`]) {
      expect(weigh(`["${text}","${plain}"]`)).toBeGreaterThan(30_000);
      expect(weigh(`["${text}","${plain}"]`)).toBeLessThan(30_400);
      expect(weigh(`["${plain}","${text}"]`)).toBeGreaterThan(30_000);
    }
  const escaped = weigh(`["${String.raw`\u4e2d`.repeat(10_000)}"]`);
  expect(escaped).toBeGreaterThan(20_000);
  expect(escaped).toBeLessThan(61_000);
  for (const narrow of [String.raw`\u00ff`, String.raw`\n`, String.raw`\"`, String.raw`\\u0100`])
    expect(weigh(`["${narrow}${plain}","${plain}"]`)).toBeLessThan(20_400);
});

test.each([
  [[]],
  [{}],
  [{ a: [1, 2, { b: null }], c: { d: [] } }],
  [Array.from({ length: 1000 }, (_, n) => ({ [`k${n}`]: [n] }))],
])('the structure of a text weighs less than its values: %j', (value) => {
  const weight = structureWeight(JSON.stringify(value));
  expect(weight).toBeLessThanOrEqual(weightOf(value));
  expect(weight).toBeGreaterThan(weightOf(value) / 3);
});

test('characters of strings are no structure', () => {
  for (const text of ['{'.repeat(1000), '"[1,2],"'.repeat(100), String.raw`\\",{`.repeat(100), '中,'.repeat(100)])
    expect(structureWeight(JSON.stringify([text]))).toBe(48);
});
