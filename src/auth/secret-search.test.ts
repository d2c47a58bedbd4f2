import { describe, expect, test } from 'vitest';
import { SecretSearch } from './secret-search.ts';
import { MAX_PARTS, SingleSearch, type Span } from './single-search.ts';

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
      const forwards = [new SecretSearch([secret], false), new SingleSearch(secret, false)];
      const backwards = [new SecretSearch([secret], true), new SingleSearch(secret, true)];
      const wrong = texts.filter((text) => {
        const mirrored = slowly(reversed(secret), reversed(text), cut).map(([start, end]) => [
          text.length - end,
          text.length - start,
        ]);
        const expected = slowly(secret, text, cut);
        const found = [...forwards, ...backwards].map((search) => search.find(text, cut));
        return JSON.stringify(found) !== JSON.stringify([expected, expected, mirrored, mirrored]);
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
    const found = search.find(text, false)!.toSorted(([a], [b]) => a - b);
    expect(found).toEqual(places);
    for (const secret of secrets.slice(0, 20)) expect(search.find(secret, false)).toEqual([[0, secret.length]]);
  }
});

test('several secrets with the same seed are found as by searching each of them', () => {
  const secrets = ['aaaaaaaab', 'aaaaaaaabc', 'aaaaaaaac', 'aaaaaaaa', 'aaaaaaaab-and-more', 'aaaaaaaa\nb', 'aaaaaaaa'];
  const pieces = [...secrets, 'a', 'b', '\n', '…', 'aaaaaaaab-and', 'aaaaaaab'];
  const texts = pieces.flatMap((a) => pieces.flatMap((b) => [`${a}${b}`, `${a} ${b}`, `${a}\n${b}`]));
  /** Which characters are part of a secret. */
  const marked = (spans: readonly Span[], text: string): string =>
    Array.from(text, (each, at) => (spans.some(([start, end]) => start <= at && at < end) ? '*' : each)).join('');
  for (const backwards of [false, true])
    for (const cut of [false, true]) {
      const given = backwards ? secrets.map(reversed) : secrets;
      const all = new SecretSearch(given, backwards);
      const single = given.map((secret) => new SingleSearch(secret, backwards));
      for (const text of backwards ? texts.map(reversed) : texts) {
        const expected = single.flatMap((search) => search.find(text, cut));
        expect(marked(all.find(text, cut)!, text)).toBe(marked(expected, text));
      }
    }
});

test('many secrets, with one seed or with many, are found, and none of which a character is missing', () => {
  const tokens = Array.from({ length: 400 }, (_, at) => `eyJhbGciOiJIUzI1NiJ9.${at}.${at * 7919}`);
  const names = Array.from({ length: 400 }, (_, at) => `${(at * 7919 + 1e9).toString(36)}-${at}!`);
  for (const secrets of [tokens, names]) {
    const search = new SecretSearch(secrets, false);
    const text = secrets.map((secret) => `got ${secret} now `).join('');
    const found = search.find(text, false)!.toSorted(([a], [b]) => a - b);
    expect(found.map(([from, to]) => text.slice(from, to))).toEqual(secrets);
  }
  const search = new SecretSearch(names, false);
  for (const name of names) expect(search.find(`not ${name.slice(0, -1)}`, false)).toEqual([]);
});

test('a text that takes long to compare is searched for each secret', () => {
  const secrets = [`${'a'.repeat(4000)}b`, `${'a'.repeat(4000)}c`];
  const text = `${'a'.repeat(30_000)}b ${secrets[1]}`;
  const found = new SecretSearch(secrets, false).find(text, false);
  expect(found!.toSorted(([a], [b]) => a - b)).toEqual([
    [26_000, 30_001],
    [30_002, 34_003],
  ]);
});

test('so is a text in which few seeds have long parts of a secret', () => {
  const part = 'a seed 1'.padEnd(100, 'x');
  const secrets = [`${part.repeat(40)}!`, `${part.repeat(40)}?`, 'a seed 2 and more', 'a seed 3 and more'];
  const text = `${part.repeat(200)}! ${secrets[2]}`;
  expect(new SecretSearch(secrets, false).find(text, false)).toEqual([
    [16_000, 20_001],
    [20_002, 20_019],
  ]);
});

test('the search ends after a maximum number of parts', () => {
  const text = '12345678'.repeat(MAX_PARTS + 2);
  for (const search of [new SecretSearch(['12345678'], true), new SingleSearch('12345678', false)])
    expect(search.find(text, false)).toHaveLength(MAX_PARTS + 1);
});

describe('a text is not searched if that takes too long:', () => {
  test.each([
    ['because it is compared with a secret too often', ['abcdefghij'], 'abcdefgh'.repeat(300_000)],
    ['because each of many secrets is searched', ['aaaaaaaa1', 'aaaaaaaa2', 'aaaaaaaa3'], 'a'.repeat(400_000)],
    ['because there are too many secrets for its length', ['abcdefgh', 'ijklmnop'], 'a'.repeat(250_000_001)],
  ])('%s', (_, secrets, text) => {
    expect(new SecretSearch(secrets, false).find(text, false)).toBeUndefined();
  });

  test.each([
    ['compared often enough', ['abcdefghij'], 'abcdefgh'.repeat(100_000)],
    ['few enough secrets', ['aaaaaaaa1', 'aaaaaaaa2'], 'a'.repeat(400_000)],
  ])('but %s', (_, secrets, text) => {
    expect(new SecretSearch(secrets, false).find(text, false)).toEqual([]);
  });
});
