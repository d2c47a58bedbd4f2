import { expect, test } from 'vitest';
import { shortText, shortJson } from './short-text.ts';

test.each([
  ['tools/call', 'tools/call'],
  ['x'.repeat(256), 'x'.repeat(256)],
  ['x'.repeat(257), `${'x'.repeat(256)}… (257 characters)`],
])('a text in an error has 256 characters at most: %s', (text, shown) => {
  expect(shortText(text)).toBe(shown);
});

test.each([
  ['a "name"', String.raw`"a \"name\""`],
  ['x'.repeat(1000), `"${'x'.repeat(255)}… (1002 characters)`],
  [7, '7'],
  [undefined, 'undefined'],
  [['x'.repeat(1000)], `["${'x'.repeat(254)}… (1004 characters)`],
])('a value in an error has 256 characters at most: %j', (value, shown) => {
  expect(shortJson(value)).toBe(shown);
});
