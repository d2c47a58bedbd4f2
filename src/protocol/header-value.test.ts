import { describe, expect, test } from 'vitest';
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts';

describe('the examples of the specification', () => {
  test.each([
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ])('%j is encoded as %s', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  });
});

test.each(['', 'a b', 'a\tb', '\ttab', '=?base64?=', '=?base64?', '?=', '\u{feff}mark', '\u0000', 'ÿ', '😀'])(
  '%j is decoded to the same value, and encoded in ASCII that no parser trims',
  (value) => {
    const header = encodeHeaderValue(value);
    expect(header).toMatch(/^[\t\x20-\x7e]*$/);
    expect(header.trim()).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  },
);

test.each(['=?base64?SGVsbG8=', '=?BASE64?SGVsbG8=?=', 'SGVsbG8=', '=?base64?=', 'x=?base64?SGVsbG8=?='])(
  '%s lacks a marker and is read literally',
  (value) => {
    expect(decodeHeaderValue(value)).toBe(value);
  },
);

test.each([
  ['wrong padding', '=?base64?SGVsbG8?='],
  ['characters that are not Base64', '=?base64?SGVs!!!bG8=?='],
  ['bits after the last byte', '=?base64?SGVsbG9=?='],
  ['the URL alphabet', '=?base64?_-8=?='],
  ['bytes that are not UTF-8', '=?base64?//8=?='],
  ['a control character', 'a\u0001b'],
  ['a character beyond ASCII', 'é'],
])('a value is malformed with %s', (_, value) => {
  expect(decodeHeaderValue(value)).toBeUndefined();
});
