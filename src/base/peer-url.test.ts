import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isPeerUrl, peerUrl } from './peer-url.ts';

/** A host that takes the parser long, because all its characters differ. */
const letters = (count: number): string =>
  String.fromCodePoint(...Array.from({ length: count }, (_, i) => 0xac00 + ((i * 7919) % 11_172)));
const LONG = letters(16_000);

test.each([
  ['a scheme', `https://${LONG}/`],
  ['one slash', `http:/${LONG}`],
  ['no slash', `WSS:${LONG}?query`],
  ['backslashes', `https:\\\\${LONG}\\path`],
  ['many slashes', `https:////${LONG}`],
  ['a user and a port', `https://user@name:pass@${LONG}:8080/`],
  ['characters that are left out', `  ht\ntps:\t/\r/${LONG}`],
  ['percent signs', `https://${encodeURIComponent(letters(600))}/`],
  ['letters of ASCII', `https://${'a'.repeat(255)}/`],
])('a host that is too long is refused, with %s', (_, text) => {
  expect(isPeerUrl(text)).toBe(false);
  expect(peerUrl(text)).toBeUndefined();
  expect(peerUrl(text, 'https://example.com')).toBeUndefined();
});

test('so is the host of a relative URL', () => {
  for (const slashes of ['//', '\\\\', '/\\', '/\t/'])
    expect(peerUrl(slashes + LONG, new URL('https://example.com'))).toBeUndefined();
});

test.each([
  `https://${'a.'.repeat(127)}:8080/path`,
  `https://${'%61'.repeat(253)}/`,
  `https://${letters(63)}.example/`,
  `https://example.com/${'a'.repeat(10_000)}`,
  `https://example.com?${'a'.repeat(10_000)}`,
  `https://example.com#${'é'.repeat(10_000)}`,
  `https://${'u'.repeat(1000)}:${'p'.repeat(1000)}@example.com/`,
  `data:text/plain,${'a'.repeat(10_000)}`,
  `urn:${'a'.repeat(10_000)}`,
  `note://${'a'.repeat(10_000)}`,
  'file:///a',
])('other URLs are parsed as Node does', (text) => {
  expect(isPeerUrl(text)).toBe(true);
  expect(peerUrl(text)?.href).toBe(new URL(text).href);
});

test('a relative URL has the host of its base', () => {
  expect(peerUrl('a'.repeat(1000), 'https://example.com/b')?.href).toBe(`https://example.com/${'a'.repeat(1000)}`);
  expect(peerUrl('a', 'no base')).toBeUndefined();
  expect(peerUrl('a')).toBeUndefined();
});

test('a URL has at most 65,536 characters', () => {
  const longest = `https://example.com/${'a'.repeat(65_536 - 20)}`;
  expect(longest).toHaveLength(65_536);
  expect(isPeerUrl(longest)).toBe(true);
  expect(isPeerUrl(`${longest}a`)).toBe(false);
});

test.each(['https://', 'ws://', 'ftp://'])('a host has at most 254 characters, without user and port: %s', (scheme) => {
  const host = `${'a.'.repeat(126)}aa`;
  expect(host).toHaveLength(254);
  expect(isPeerUrl(`${scheme}user:1@${host}:80/`)).toBe(true);
  expect(isPeerUrl(`${scheme}user:1@${host}a:80/`)).toBe(false);
  expect(isPeerUrl(`${scheme}${host.replaceAll('a', '%61')}/`)).toBe(true);
  expect(isPeerUrl(`${scheme}${`${host}a`.replaceAll('a', '%61')}/`)).toBe(false);
});

test('no other file tries to parse a text that may be no URL', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const files = ['src', 'page'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name)),
  );
  const trying = files
    .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
    .filter((file) => /\bURL\.(canParse|parse)\b/.test(readFileSync(path.join(root, file), 'utf8')));
  expect(trying.toSorted()).toEqual(
    ['peer-url.browser.ts', 'peer-url.ts'].map((name) => path.join('src', 'base', name)),
  );
});
