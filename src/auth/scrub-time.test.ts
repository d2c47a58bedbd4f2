import { describe, expect, test } from 'vitest';
import { textsOfParts, token } from '../../test/support/long-tokens.ts';
import { shortestProcessorTime } from '../../test/support/processor-time.ts';
import { scrubber } from './scrub.ts';

/** The text without secrets, if that takes little time. */
function quickly(secret: string, text: string): string {
  const scrub = scrubber([secret]);
  let clean = '';
  expect(shortestProcessorTime(() => void (clean = scrub(text)))).toBeLessThan(250);
  return clean;
}

test('parts of a secret are removed quickly from very many lines', () => {
  const secret = 'abcdef-0123456789-uvwxyz';
  const text = `${secret.slice(0, 12)}\n${secret.slice(-12)} ${secret.slice(0, 12)} \n`.repeat(10_000);
  expect(quickly(secret, text)).not.toContain('abcdef-01234\n');
});

describe('a server that chooses its token and the text cannot make it take long:', () => {
  test.each(textsOfParts)('%s', (_, text) => {
    expect(quickly(token, text)).not.toContain(`${token}\n`);
  });
});

describe('nor can it do so with a text of megabytes:', () => {
  const lines = Array.from({ length: 1000 }, (_, n) => `aaaaaaaa${n + 1000}`).join(String.raw`\n`);
  test.each([
    ['beginnings of its token', 'abcdefghijklmnop', 'abcdefgh'.repeat(4_000_000)],
    ['a token of one letter', token, 'a'.repeat(32_000_000)],
    ['a token of many lines', lines, 'a'.repeat(1_000_000)],
    [
      'a token of many lines, of which the text has none',
      lines.replaceAll(/a{8}(.{4})/g, 'a$1$1'),
      'a'.repeat(32_000_000),
    ],
  ])('%s', (_, secret, text) => {
    const scrub = scrubber([secret]);
    expect(scrub(text)).toBe('[redacted]');
    expect(shortestProcessorTime(() => scrub(text))).toBeLessThan(1500);
  });
});

test.each([
  ['credentials', 'Bearer abcdefgh '],
  ['users of URLs', 'http://a:b@c/'],
  ['empty users of URLs', '://@'],
])('a text with very many %s is removed quickly, and as a whole', (_, part) => {
  const text = part.repeat(15_000_000 / part.length);
  const scrub = scrubber([]);
  expect(scrub(text)).toBe('[redacted]');
  expect(shortestProcessorTime(() => scrub(text))).toBeLessThan(250);
});
