import { describe, expect, test } from 'vitest';
import { MAX_PARTS, SecretSearch, type Span } from './secret-search.ts';

const reversed = (text: string): string => text.split('').toReversed().join('');

/** The same result by comparing the secret with the text at each position. */
function slowly(secret: string, text: string, cut: boolean): Span[] {
  const found: Span[] = [];
  for (let end = 8; end <= text.length; end += 1) {
    if (cut && end < text.length && !'\n\r…'.includes(text[end]!)) continue;
    let { length } = secret;
    while (cut && length > 7 && !text.endsWith(secret.slice(0, length), end)) length -= 1;
    if (length < 8 || !text.endsWith(secret.slice(0, length), end)) continue;
    const before = found.at(-1);
    if (before && end - length < before[1]) before[1] = end;
    else found.push([end - length, end]);
  }
  return found;
}

describe('a secret is found as by comparing it with the text at each position', () => {
  const secrets = [
    'aaaaaaaa',
    'aaaaaaaaaaaa',
    'abababababab',
    'aabaabaaabaab',
    'aaaaaaaaab',
    'abcdefghij',
    'aaaaaaaa\naa\raa',
    'aaaaaaaa\n',
  ];

  test.each(secrets)('%j', (secret) => {
    const parts = [1, 3, 8, 9].flatMap((length) => [secret.slice(0, length), secret.slice(-length)]);
    const pieces = [secret, ...parts, 'b', '\n', '\r', '…'];
    const texts = pieces.flatMap((a) => pieces.flatMap((b) => pieces.map((c) => a + b + c + a)));
    for (const cut of [false, true]) {
      const forwards = new SecretSearch([secret], false);
      const backwards = new SecretSearch([secret], true);
      const wrong = texts.filter((text) => {
        const mirrored = slowly(reversed(secret), reversed(text), cut).map(([start, end]) => [
          text.length - end,
          text.length - start,
        ]);
        const found = [forwards.find(text, cut), backwards.find(text, cut)];
        return JSON.stringify(found) !== JSON.stringify([slowly(secret, text, cut), mirrored]);
      });
      expect(wrong).toEqual([]);
    }
  });
});

test('all of several secrets are found, even if they begin alike or contain any ASCII characters', () => {
  const ascii = String.fromCharCode(...Array.from({ length: 96 }, (_, index) => 32 + index));
  const special = Array.from({ length: 12 }, (_, index) => ascii.slice(8 * index, 8 * index + 8));
  const many = Array.from({ length: 1100 }, (_, index) => `${index}-secret`.padStart(12, '0'));
  const secrets = ['the same beginning 1', 'the same beginning 2', ...special, ...many];
  const text = secrets.join('\n');
  const places = secrets.map((secret) => [text.indexOf(secret), text.indexOf(secret) + secret.length]);
  for (const backwards of [false, true]) {
    const search = new SecretSearch(secrets, backwards);
    const found = search.find(text, false).toSorted(([a], [b]) => a - b);
    expect(found).toEqual(places);
    for (const secret of secrets.slice(0, 20)) expect(search.find(secret, false)).toEqual([[0, secret.length]]);
  }
});

test('the search ends after a maximum number of parts', () => {
  for (const backwards of [false, true]) {
    expect(new SecretSearch(['12345678'], backwards).find('12345678 '.repeat(MAX_PARTS + 2), false)).toHaveLength(
      MAX_PARTS + 1,
    );
  }
});
