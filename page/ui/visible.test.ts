import { expect, test } from 'vitest';
import { fitting, inJson, visible } from './visible.tsx';

test.each([
  ['plain äöü 漢字 😀 עברית', 'plain äöü 漢字 😀 עברית'],
  ['exe\u202Egnp', 'exe\\u202egnp'],
  ['a\u200Bb\uFEFFc\u2066d', 'a\\u200bb\\ufeffc\\u2066d'],
  ['tag\u{E0041}', 'tag\\u{e0041}'],
  ['\u0000\u001B[31m\u007F\u009B', '\\u0000\\u001b[31m\\u007f\\u009b'],
  ['a\nb\r\tc\u2028d', 'a\\nb\\r\\tc\\u2028d'],
  ['\uD800 \uDC00', '\\ud800 \\udc00'],
  ['x\uFE0Fy\uFE01\u{E0100}z', 'x\\ufe0fy\\ufe01\\u{e0100}z'],
  ['\u3164\u115F\u034F', '\\u3164\\u115f\\u034f'],
  ['\u2764\uFE0F 1\uFE0F', '\u2764\uFE0F 1\uFE0F'],
])('%j is shown as %j', (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each([
  ['abc', 3, 3],
  ['abcdef', 3, 3],
  ['a\u202Eb', 8, 3],
  ['a\u202Eb', 7, 2],
  ['a\u202Eb', 1, 1],
  ['\u202E'.repeat(10), 12, 2],
  [`a${'\u202E'.repeat(10)}b`, 13, 3],
  ['a\u202E'.repeat(10), 14, 4],
  ['', 10, 0],
  // Not the first half of a character.
  ['a\u202E😀', 8, 2],
  ['\u{E0041}\u{E0042}', 14, 2],
])('of %j, at most %i characters with escapes show the first %i', (text, max, shown) => {
  expect(fitting(text, max)).toBe(shown);
  expect(visible(text.slice(0, shown)).length).toBeLessThanOrEqual(max);
});

test('of a text whose direction changes very often, less is shown', () => {
  expect(fitting('aع'.repeat(50_000), 100_000)).toBe(5001);
  expect(fitting('aع'.repeat(5000), 10_000)).toBe(841);
  // An escape changes the direction too.
  expect(fitting('ع\u202E'.repeat(5000), 10_000)).toBe(840);
  expect(fitting('مرحبا بالعالم '.repeat(5000), 10_000)).toBe(10_000);
  // A word has to end.
  expect(fitting(`a ${'ع'.repeat(5000)}`, 10_000)).toBe(1002);
  expect(fitting('中'.repeat(5000), 10_000)).toBe(5000);
  // Punctuation costs as much.
  expect(fitting('א"'.repeat(50_000), 100_000)).toBe(5000);
});

test('the hidden characters of JSON are escaped, and it stays the same', () => {
  const json = JSON.stringify({ 'a\u202E': ['\u{E0041}\u200B', 'é\n\t'] }, undefined, 2);
  expect(inJson(json)).toContain('"a\\u202e"');
  expect(inJson(json)).toContain('"\\udb40\\udc41\\u200b"');
  expect(JSON.parse(inJson(json))).toEqual(JSON.parse(json));
});
