import { describe, expect, test } from 'vitest';
import { printable, printableError, printableLine, printableLines, printableMessage } from './printable.ts';

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** The code points that can mislead a terminal or its reader, by their kind. */
const UNSAFE: Record<string, readonly number[]> = {
  'C0, except tab and line break': range(0, 0x1f).filter((code) => code !== 9 && code !== 10),
  'DEL and C1': range(0x7f, 0x9f),
  'writing direction': [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)],
  'line and paragraph separators': [0x2028, 0x2029],
  'zero width': [0x00ad, 0x180e, 0x200b, 0x200c, 0x200d, ...range(0x2060, 0x2064), 0xfeff],
  'lone surrogates': [0xd800, 0xdbff, 0xdc00, 0xdfff],
};

describe.each(Object.entries(UNSAFE))('%s', (_, codes) => {
  test.each(codes.map((code) => [`U+${code.toString(16).padStart(4, '0')}`, code]))(
    '%s is made visible',
    (_name, code) => {
      const written = `a\\u${code.toString(16).padStart(4, '0')}b`;
      const text = `a${String.fromCharCode(code)}b`;
      expect(printable(text)).toBe(written);
      expect(printableLine(text)).toBe(written);
      expect(JSON.parse(printable(JSON.stringify({ text })))).toEqual({ text });
      expect(printable(JSON.stringify({ text }))).toMatch(/^[ -~]+$/);
    },
  );
});

const ignorable = /^\p{Default_Ignorable_Code_Point}$/u;

test('every invisible character is made visible', () => {
  const all = range(0, 0x10ffff)
    .map((code) => String.fromCodePoint(code))
    .filter((character) => ignorable.test(character));
  expect(all.length).toBeGreaterThan(4000);
  expect(all.filter((character) => !/^a(\\u[0-9a-f]{4}){1,2}b$/.test(printable(`a${character}b`)))).toEqual([]);
  expect(printable('a\u{e0041}b')).toBe(String.raw`a\udb40\udc41b`);
});

test('every other character near the invisible ones of shorthand and music is kept', () => {
  const all = range(0x1_bc00, 0x1_d3ff)
    .map((code) => String.fromCodePoint(code))
    .filter((character) => !ignorable.test(character));
  expect(all.filter((character) => printable(character) !== character)).toEqual([]);
});

test('of the variation selectors, only one after an emoji is kept', () => {
  expect(printable('⚠️ ❤️')).toBe('⚠️ ❤️');
  expect(printable('⚠️\ufe0f ⚠\ufe0e a\ufe0f \ufe0f')).toBe(String.raw`⚠️\ufe0f ⚠\ufe0e a\ufe0f \ufe0f`);
  const many = 100_000;
  expect(printable(`⚠️${'\ufe0f'.repeat(many)}`)).toBe(`⚠️${String.raw`\ufe0f`.repeat(many)}`);
});

test('line breaks and tabs are kept in text of several lines', () => {
  expect(printable('a\r\nb\nc\td')).toBe('a\nb\nc\td');
  expect(printableLine('a\r\nb\nc\td')).toBe(String.raw`a\nb\nc\td`);
});

test.each(['Grüße, 你好, שלום', 'می‌خواهم', 'क्‍ष', '👩‍💻 ❤️‍🔥 👩🏽‍🚀', '😀'])('%s is kept', (text) => {
  expect(printable(text)).toBe(text);
});

test('surrogate pairs are kept, anywhere in a long text', () => {
  for (const before of ['\u001b', '\u001b\u001b']) {
    const emoji = '😀'.repeat(10_000);
    expect(printable(before + emoji)).toBe(String.raw`\u001b`.repeat(before.length) + emoji);
  }
});

describe('beside any other character', () => {
  /** The same rules as regular expressions, which are slow. */
  const unsafe =
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\ufff9-\ufffb\p{Surrogate}]|(?<!\p{Extended_Pictographic})\ufe0f|(?!\u200c|\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}/gu;
  const strayJoiner =
    /(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Script=Arabic}\p{Mark}])[\u200c\u200d]|[\u200c\u200d](?![\p{Extended_Pictographic}\p{Lo}])/gu;
  const escaped = (text: string): string =>
    Array.from({ length: text.length }, (_, n) => `\\u${text.charCodeAt(n).toString(16).padStart(4, '0')}`).join('');
  const expected = (text: string): string =>
    text.replaceAll('\r\n', '\n').replace(unsafe, escaped).replace(strayJoiner, escaped);

  const characters = [
    'a',
    '⚠',
    '\ufe0f',
    '\ufe00',
    '\u034f',
    '\u001b',
    '\n',
    '\r',
    '\t',
    '\u061c',
    '\u200c',
    '\u200d',
    '\ufeff',
    'م',
    'क',
    '\u094d',
  ];
  const pairs = [
    '👩',
    '\u{1f400}',
    '\u{1f3fd}',
    '\u{10000}',
    '\u{10ffff}',
    '\u{e007f}',
    '\u{e0080}',
    '\u{e0100}',
    '\u{1d173}',
  ];
  const all = [...characters, ...pairs, '\ud800', '\udb40', '\udbff', '\udc00', '\udfff'];

  test.each(all.map((first) => [JSON.stringify(first), first]))(
    'a character is escaped by the same rule: %s',
    (_, first) => {
      const texts = all.flatMap((second) => all.map((third) => first + second + third));
      const longer = texts.flatMap((text) => [text, `م\u200d${text}`, `${text}م`]);
      expect(longer.map(printable)).toEqual(longer.map(expected));
    },
  );
});

test('an error with text of a peer shows unsafe characters in its message and in its stack', () => {
  const cause = new Error('cause');
  const error = printableError('red: \u001b[31m\n\u202e', { cause });
  expect(error).toMatchObject({ message: 'red: \\u001b[31m\\n\\u202e', cause });
  expect(error.stack).not.toContain('\u001b');
});

test('an error quotes at most 8,192 characters of a peer', () => {
  expect(printableError('x'.repeat(8193)).message).toBe(`${'x'.repeat(8192)}…`);
  expect(printableError('x'.repeat(8192)).message).toBe('x'.repeat(8192));
});

test('what was made visible stays as it is', () => {
  const characters = [
    '\u{1f468}',
    '\u200d',
    '\u3164',
    '\u115f',
    '\u064a',
    '\u0301',
    '\ufe0f',
    '\r',
    '\n',
    '\ud800',
    '\u0915',
    'a',
  ];
  for (const a of characters)
    for (const b of characters)
      for (const c of characters)
        for (const d of characters) {
          const shown = printable(a + b + c + d);
          expect(printable(shown)).toBe(shown);
        }
});

test('the message of an error is cut at 8,192 characters, and only one of the two kinds keeps its lines', () => {
  const text = `a\n\u001b${'b'.repeat(9000)}`;
  const rest = 'b'.repeat(8189) + '…';
  expect(printableLines(text) === `a\n\\u001b${rest}`).toBe(true);
  expect(printableMessage(text) === `a\\n\\u001b${rest}`).toBe(true);
});
