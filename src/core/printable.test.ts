import { describe, expect, test } from 'vitest';
import { printable, printableLine } from './printable.ts';

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** The code points that fool a terminal or its reader, by what they are. */
const UNSAFE: Record<string, readonly number[]> = {
  'C0, but for tab and line break': range(0, 0x1f).filter((code) => code !== 9 && code !== 10),
  'DEL and C1': range(0x7f, 0x9f),
  'direction of writing': [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)],
  'separators of lines and paragraphs': [0x2028, 0x2029],
  'no width': [0x00ad, 0x180e, 0x200b, 0x200c, 0x200d, ...range(0x2060, 0x2064), 0xfeff],
  'halves of pairs': [0xd800, 0xdbff, 0xdc00, 0xdfff],
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

test('tags, which have no width, are made visible', () => {
  expect(printable('a\u{e0041}b')).toBe(String.raw`a\udb40\udc41b`);
});

test('line breaks and tabs stay, where there is more than one line', () => {
  expect(printable('a\r\nb\nc\td')).toBe('a\nb\nc\td');
  expect(printableLine('a\r\nb\nc\td')).toBe(String.raw`a\nb\nc\td`);
});

test.each(['Grüße, 你好, שלום', 'می‌خواهم', 'क्‍ष', '👩‍💻 ❤️‍🔥 👩🏽‍🚀', '😀'])('%s stays', (text) => {
  expect(printable(text)).toBe(text);
});

test('pairs of surrogates stay, wherever they stand in a long text', () => {
  for (const before of ['\u001b', '\u001b\u001b']) {
    const emoji = '😀'.repeat(10_000);
    expect(printable(before + emoji)).toBe(String.raw`\u001b`.repeat(before.length) + emoji);
  }
});
