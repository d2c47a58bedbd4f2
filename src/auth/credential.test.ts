import { expect, test } from 'vitest';
import { bearerCredential, MALFORMED, missingCredential } from './credential.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['Basic YWRhOnNlY3JldA==', undefined],
  ['Digest username="ada", uri="/mcp"', undefined],
  ['BearerToken abc', undefined],
  ['Basic bearer abc', undefined],
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER   a.b-c_d~e+f/g== ', 'a.b-c_d~e+f/g=='],
])('%j contains the credential %j', (header, token) => {
  expect(bearerCredential(header)).toBe(token);
});

test.each([
  'Bearer',
  'Bearer ',
  'Bearer a b',
  'Bearer a, Bearer b',
  'Bearer, Bearer b',
  'Bearer a=b',
  'Bearer "a"',
  'Bearer ä',
])('%j does not contain exactly one credential', (header) => {
  expect(bearerCredential(header)).toBe(MALFORMED);
});

test.each([
  [undefined, 'An API key is required'],
  ['s3cret', 'An API key is required, and the Authorization header does not begin with "Bearer "'],
])('who sends the header %j is told what is missing', (header, message) => {
  expect(missingCredential('An API key', header)).toBe(message);
});

test('the length of a credential is limited', () => {
  const longest = 'a'.repeat(16 * 1024);
  expect(bearerCredential(`Bearer ${longest}`)).toBe(longest);
  expect(bearerCredential(`Bearer ${longest}a`)).toBe(MALFORMED);
});
