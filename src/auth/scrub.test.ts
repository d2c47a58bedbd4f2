import { describe, expect, test } from 'vitest';
import { textsOfParts, token } from '../../test/support/long-tokens.ts';
import { scrubber, withoutQueries } from './scrub.ts';

const KEY = ['-----BEGIN PRIVATE KEY-----', 'MIIEvQIBADANBgkqhkiG9w0', 'c2hvcnQ=', '-----END PRIVATE KEY-----'];

describe('a secret is removed', () => {
  test.each([
    ['LF', KEY.join('\n')],
    ['CR LF', KEY.join('\r\n')],
    ['CR', KEY.join('\r')],
    ['escaped LF, as in a variable', KEY.join(String.raw`\n`)],
    ['escaped CR LF', KEY.join(String.raw`\r\n`)],
    ['LF and indentation', KEY.join('\n  ')],
  ])('line by line, with line ends: %s', (_, secret) => {
    const scrub = scrubber([secret]);
    for (const line of KEY) expect(scrub(`  ${line}`)).toBe('  [redacted]');
    expect(scrub(secret)).toBe('[redacted]');
    expect(scrub(JSON.stringify({ secret }))).toBe('{"secret":"[redacted]"}');
  });

  test.each([
    ['a quotation mark', 'pa"ss"word-1234', String.raw`pa\"ss\"word-1234`],
    ['a backslash', String.raw`pass\word`, String.raw`pass\\word`],
    ['a tab', 'pass\tword', String.raw`pass\tword`],
    ['non-ASCII letters', 'passwört-😀', String.raw`passw\u00f6rt-\ud83d\ude00`],
    ['a slash', 'c2l0/ZW4+', String.raw`c2l0\/ZW4+`],
    ['characters that HTML escapes', '<pass&word>', String.raw`\u003cpass\u0026word\u003e`],
    ['characters that a URL escapes', 'pass word%', 'pass%20word%25'],
    ['lower-case escapes', 'päss/word', 'p%c3%a4ss%2fword'],
    ['a slash and a tilde, in a JSON Pointer', 'c2l0/ZW~4+', 'c2l0~1ZW~04+'],
    ['a plus for a space', 'pass word&1', 'pass+word%261'],
    ['characters that only forms escape', "pass word's", 'pass+word%27s'],
    ['a plus for a space, with a character that only forms escape', 'pass word!x', 'pass+word!x'],
    ['a lone surrogate and an exclamation mark, in a URL', 'password!\ud800', 'password!%EF%BF%BD'],
    ['a lone surrogate', 'password\ud83d', String.raw`password\ud83d`],
    ['a lone surrogate, in a URL', 'password\ud83d', 'password%EF%BF%BD'],
  ])('unchanged and in other encodings, with %s in it', (_, secret, written) => {
    expect(scrubber([secret])(`a ${secret} b ${written} c`)).toBe('a [redacted] b [redacted] c');
  });

  test('if it is the whole text, and has the minimum length', () => {
    expect(scrubber(['12345678'])('12345678')).toBe('[redacted]');
  });

  test('completely, if another secret is part of it', () => {
    expect(scrubber(['s3cret-key', 's3cret-key\nand-more'])('s3cret-key\nand-more s3cret-key')).toBe(
      '[redacted] [redacted]',
    );
  });
});

describe('a truncated secret is removed', () => {
  const secret = 'sk-0123456789abcdef';
  const scrub = scrubber([secret]);
  const kept = 8;

  test('if its beginning is at the end of a line', () => {
    for (let length = kept; length < secret.length; length += 1) {
      const cut = secret.slice(0, length);
      for (const end of ['', '\n', '\r\nmore', '…']) expect(scrub(`key=${cut}${end}`)).toBe(`key=[redacted]${end}`);
      expect(scrub(`${cut}${cut}`)).toBe(`${cut}[redacted]`);
      expect(scrub(`${cut} follows`)).toBe(`${cut} follows`);
    }
  });

  test('if its end is at the beginning of a line', () => {
    for (let length = kept; length < secret.length; length += 1) {
      const cut = secret.slice(-length);
      for (const before of ['', 'a\n', '…']) expect(scrub(`${before}${cut} b`)).toBe(`${before}[redacted] b`);
      expect(scrub(`a ${cut}`)).toBe(`a ${cut}`);
    }
  });
});

test('a text with very many parts of a secret is removed as a whole', () => {
  const scrub = scrubber(['secret-12345']);
  for (const part of ['secret-12345 ', 'secret-1\n']) {
    const clean = part.replace(/[\w-]+/, '[redacted]');
    expect(scrub(part.repeat(100_000))).toBe(clean.repeat(100_000));
    expect(scrub(part.repeat(100_001))).toBe('[redacted]');
  }
});

describe('a server may choose its token and the text:', () => {
  test.each(textsOfParts)('%s', (_, text) => {
    const scrub = scrubber([token]);
    expect(scrub(text)).not.toContain(`${token}\n`);
  });

  test('a token that is too large for a regular expression', () => {
    const large = 'a'.repeat(50_000);
    expect(scrubber([large])(`${'b'.repeat(50_000)} ${large} c`)).toBe(`${'b'.repeat(50_000)} [redacted] c`);
  });

  test('a token of very many lines', () => {
    const lines = Array.from({ length: 30_000 }, (_, index) => `line-${index}-of-the-token`);
    expect(scrubber([lines.join('\n')])(`${lines[29_999]} is wrong`)).toBe('[redacted] is wrong');
  });
});

test('a secret of a few letters is not removed, even if it is a whole line', () => {
  const text = 'a short word: short';
  expect(scrubber(['short', 'word\nshort\n', ''])(text)).toBe(text);
});

test('a user name is removed from a URL that is shorter than any secret', () => {
  expect(scrubber([])('a://b@c')).toBe('a://[redacted]@c');
});

test('a password in a URL is removed up to the last @ before the host', () => {
  const scrub = scrubber([]);
  expect(scrub('https://user:p@ss:word@host/x@y?a@b')).toBe('https://[redacted]@host/x@y?a@b');
  expect(scrub('https://host/a@b')).toBe('https://host/a@b');
  expect(scrub('"http://a@b" http://c?to=ws://d:e@f#g@h')).toBe(
    '"http://[redacted]@b" http://c?to=ws://[redacted]@f#g@h',
  );
});

test.each([
  ['Authorization: Bearer abcdefgh.', 'Authorization: Bearer [redacted]'],
  ['basic\t YWRhOnNlY3JldA==,', 'basic\t [redacted],'],
  ['DPoP a.b-c_d~e+f/g=; dpop 12345678=', 'DPoP [redacted]; dpop [redacted]'],
  ['the bearer of good news', 'the bearer of good news'],
  ['Bearer abcdefg', 'Bearer abcdefg'],
])('the value after an authentication scheme is removed: %s', (text, clean) => {
  expect(scrubber([])(text)).toBe(clean);
});

test('only the queries of URLs are removed', () => {
  const text = 'https://a.example/b?c=d&e=?f#g "h2+x-1.y://i?j", k?l m://n';
  expect(withoutQueries(text)).toBe('https://a.example/b?[redacted]#g "h2+x-1.y://i?[redacted]", k?l m://n');
});

test('secrets that overlap count as one, in a text that takes long to search too', () => {
  const secrets = [`${'a'.repeat(4000)}b`, 'aaaaaaaab and more'];
  const text = `${'a'.repeat(30_000)}b and more`;
  for (const given of [secrets, secrets.toReversed()])
    expect(scrubber(given)(text)).toBe(`${'a'.repeat(26_000)}[redacted]`);
});

test.each(['Bearer abcdefgh ', 'http://a:b@c/ '])('a text with %s 100,000 times keeps the rest', (part) => {
  const clean = scrubber([])(`${part.repeat(100_000)}rest`);
  expect([clean.split('[redacted]').length, clean.endsWith('rest')]).toEqual([100_001, true]);
  expect(scrubber([])(`${part.repeat(100_001)}rest`)).toBe('[redacted]');
});
