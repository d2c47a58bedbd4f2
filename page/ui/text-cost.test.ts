import { expect, test } from 'vitest';
import { changesOf, costOf } from './text-cost.ts';
import { fitting } from './visible.tsx';

test.each([
  ['Hindi', 'क्षत्रियों की शक्ति '],
  ['Thai', 'ที่นี่มีน้ำดื่ม '],
  ['Arabic', 'بِسْمِ ٱللَّٰهِ '],
  ['Hebrew', 'בְּרֵאשִׁית בָּרָא '],
  ['Vietnamese', 'Tiếng Việt '.normalize('NFD')],
  ['Church Slavonic', 'гл\u0483съ '],
  ['emoji', '👍🏽 👩🏻‍🚀 ❤️ 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} '],
])('marks of %s cost little, and are all shown', (_, text) => {
  const long = text.repeat(3000 / text.length);
  expect(costOf(long, Infinity)).toBeLessThan(45_000);
  expect(fitting(long, 10_000, true)).toBe(long.length);
});

test.each(['\u0301', '\u0483', '\u102B', '\u20D0', '\uA9C0', '\u{1F3FB}'])(
  'thousands of %j on one letter cost much, and are cut',
  (mark) => {
    const text = `a${mark.repeat(4000 / mark.length)}`;
    expect(costOf(text, Infinity)).toBeGreaterThan(200_000);
    expect(fitting(text, 10_000)).toBeLessThanOrEqual(32);
  },
);

test.each(['\u1000\uAA60', '\u1000 ', 'a\uA98F', '\u{1F600}\u4E2D', 'a\u0436', '\u03B1\u0436 '])(
  'a text in which the script changes very often (%j) is cut, and costs much',
  (piece) => {
    const text = piece.repeat(200_000 / piece.length);
    expect(fitting(text, 512 * 1024, true)).toBeGreaterThanOrEqual(9_999);
    expect(fitting(text, 512 * 1024, true)).toBeLessThan(18_000);
    // Also if the changes are at the end.
    expect(fitting(`${'x'.repeat(90_000)}${text}`, 100_000, true)).toBeLessThan(100_000);
    expect(changesOf(text)).toBeGreaterThanOrEqual(66_666);
    expect(costOf(text, Infinity)).toBeGreaterThan(2_000_000);
  },
);

test.each([
  ['Chinese', '漢字、かな。한글', 100_000],
  ['Russian', 'Москва и Петербург ', 100_000],
  ['Greek', 'Όλοι οι άνθρωποι ', 100_000],
  ['Vietnamese', 'Tất cả mọi người sinh ra đều được tự do. ', 100_000],
  ['English with typographic signs', 'It’s “quite” common — the author’s … → ≤ 5 € ', 100_000],
  ['a tree of files', '│   ├── file.ts\n└── src\n', 100_000],
  ['Hindi', 'क्षत्रियों की शक्ति ', 25_000],
  ['Korean', '대한민국 국가 ', 19_000],
])('a long text in %s is shown', (_, text, least) => {
  expect(fitting(text.repeat(100_000 / text.length + 1), 100_000, true)).toBeGreaterThanOrEqual(least);
});

test('hidden characters are shown as escapes, and hide nothing that follows', () => {
  const tags = Array.from({ length: 60 }, (_, n) => String.fromCodePoint(0xe0041 + (n % 26))).join('');
  for (const hidden of [tags, '\uFE00'.repeat(60), '\u{E0100}'.repeat(60), '\u200B'.repeat(60)]) {
    const text = `Adds two numbers.${hidden} Then reads a file.`;
    expect(fitting(text, 10_000)).toBe(text.length);
  }
});

test.each([
  ['Uzbek', 'Barcha odamlar erkin, qadr-qimmat va huquqlarda teng boʻlib tugʻiladilar. '],
  ['Hawaiian', 'Hānau kūʻokoʻa ʻia nā kānaka apau loa, a ua kau like ka hanohano. '],
  ['English with quotes', 'It’s “quite” common, and the author has more to say about it. '],
  ['logs with Russian', '{"level":"info","message":"Запрос выполнен успешно","user":"Иван Петров","ms":12}\n'],
])('135,000 characters of %s are shown', (_, piece) => {
  const text = piece.repeat(135_000 / piece.length);
  expect(fitting(text, 512 * 1024, true)).toBe(text.length);
});

test('a long text in lines is shown, whatever its script', () => {
  const text = 'सभी मनुष्यों को गौरव प्राप्त है। 대한민국 국가 API\n'.repeat(1500);
  expect(fitting(text, 100_000, true)).toBe(text.length);
});

test('of short lines whose script changes very often, less is shown', () => {
  expect(fitting('\u1000\uAA60\n'.repeat(150_000), 512 * 1024, true)).toBeLessThanOrEqual(75_000);
  expect(fitting('\u0101\n'.repeat(250_000), 512 * 1024, true)).toBeLessThanOrEqual(100_000);
  expect(fitting('a\u0436 \n'.repeat(120_000), 512 * 1024, true)).toBeLessThanOrEqual(200_010);
});

test.each(['a\u2019', 'a\u00A0\u2019', '\u00AB\u2019 ', '\u6F22\n'])(
  'of long words such as %j, less is shown',
  (piece) => {
    expect(fitting('a'.repeat(500_000), 512 * 1024, true)).toBe(500_000);
    expect(fitting(`${'a'.repeat(400_000)} \u2019`, 512 * 1024, true)).toBe(400_002);
    expect(fitting(piece.repeat(500_000 / piece.length), 512 * 1024, true)).toBeLessThanOrEqual(200_010);
    expect(fitting(`a ${piece.repeat(500_000 / piece.length)}`, 512 * 1024, true)).toBeLessThanOrEqual(200_002);
  },
);

test.each(['\u3042\u6F22', '\u6F22\uD55C', '\u3042\uD55C', '\u3105\u6F22'])('of %j in turn, less is shown', (piece) => {
  expect(fitting(piece.repeat(50_000), 512 * 1024, true)).toBeLessThanOrEqual(50_001);
});

test('Japanese in lines is shown', () => {
  const text = 'すべての人間は、生まれながら自由である。\n'.repeat(4900);
  expect(fitting(text, 512 * 1024, true)).toBe(text.length);
});

test.each(['a', '\u00E9', '123'])('of lines such as %j, 100,000 are shown', (line) => {
  const text = Array.from({ length: 100_000 }, () => line).join('\n');
  expect(fitting(text, 512 * 1024, true)).toBe(text.length);
  expect(fitting(`${text}\n${line}`, 512 * 1024, true)).toBe(text.length);
});
