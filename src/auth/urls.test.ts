import { expect, test } from 'vitest';
import { identifierUrl, issuerMetadataUrls, secureUrl, wellKnown, withParameters } from './urls.ts';

test.each(['https://a.example/b?c=d', 'http://localhost:1/b', 'http://127.0.0.1/', 'http://[::1]:80/'])(
  '%s is secure',
  (text) => {
    expect(secureUrl(text, 'It').href).toBe(new URL(text).href);
  },
);

test.each([
  ['a.example', 'It must be an absolute URL'],
  ['/path', 'It must be an absolute URL'],
  ['http://a.example/b?c=d', 'It must be an https URL, or http on loopback: http://a.example'],
  ['file:///etc/passwd', 'It must be an https URL, or http on loopback: file:'],
  ['ws://localhost/', 'It must be an https URL, or http on loopback: ws://localhost'],
  ['https://ada@a.example', 'It must not contain credentials'],
  ['https://:secret@a.example', 'It must not contain credentials'],
  ['https://a.example/#', 'It must not have a fragment'],
])('%s is refused', (text, message) => {
  expect(() => secureUrl(text, 'It')).toThrow(new TypeError(message));
  expect(() => identifierUrl(text, 'It')).toThrow(new TypeError(message));
});

test('an identifier must not have a query, not even an empty one', () => {
  expect(identifierUrl('https://a.example/b', 'It').href).toBe('https://a.example/b');
  expect(() => identifierUrl('https://a.example/b?', 'It')).toThrow(new TypeError('It must not have a query'));
});

test.each([
  ['https://a.example', 'https://a.example/.well-known/x'],
  ['https://a.example/b/c', 'https://a.example/.well-known/x/b/c'],
  ['https://a.example/b/c/', 'https://a.example/.well-known/x/b/c'],
])('a well-known path is inserted before the path of %s', (identifier, expected) => {
  expect(wellKnown(new URL(identifier), 'x')).toBe(expected);
});

test.each(['https://a.example', 'https://a.example/'])('the metadata of %s may be at two URLs', (issuer) => {
  expect(issuerMetadataUrls(new URL(issuer))).toEqual([
    'https://a.example/.well-known/oauth-authorization-server',
    'https://a.example/.well-known/openid-configuration',
  ]);
});

test.each(['https://a.example/b/c', 'https://a.example/b/c/'])('the metadata of %s may be at three URLs', (issuer) => {
  expect(issuerMetadataUrls(new URL(issuer))).toEqual([
    'https://a.example/.well-known/oauth-authorization-server/b/c',
    'https://a.example/.well-known/openid-configuration/b/c',
    'https://a.example/b/c/.well-known/openid-configuration',
  ]);
});

test('parameters take the place of those with the same names', () => {
  const url = new URL('https://a.example/b?state=1&other=2&state=3&other=4');
  expect(withParameters(url, { state: 'x y' }).href).toBe('https://a.example/b?other=2&other=4&state=x+y');
  expect(url.search).toBe('?state=1&other=2&state=3&other=4');
});
