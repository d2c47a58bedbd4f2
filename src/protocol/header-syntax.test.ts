import { expect, test } from 'vitest';
import { isHeaderName, isHeaderValue } from './header-syntax.ts';

test.each(['X-Key', 'a', "!#$%&'*+-.^_`|~09Az"])('%j is a header name', (name) => {
  expect(isHeaderName(name)).toBe(true);
  expect(() => new Headers([[name, '']])).not.toThrow();
});

test.each(['', 'a b', 'a:', 'a\n', 'ä', '(a)'])('%j is not a header name', (name) => {
  expect(isHeaderName(name)).toBe(false);
  expect(() => new Headers([[name, '']])).toThrow(TypeError);
});

test.each(['', 'a\tb c', '\u00ff'])('%j is a header value', (value) => {
  expect(isHeaderValue(value)).toBe(true);
  expect(() => new Headers([['a', value]])).not.toThrow();
});

test.each(['a\nb', 'a\r', 'a\u0000', '\u007f', 'ł'])('%j is not a header value', (value) => {
  expect(isHeaderValue(value)).toBe(false);
});
