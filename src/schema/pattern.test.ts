import { expect, test } from 'vitest';
import { Pattern } from './pattern.ts';
import { TooMuchWork, Work } from './work.ts';

const TEXTS = [
  '',
  'a',
  'b',
  'ab',
  'aab',
  'aaa',
  'a1',
  '1',
  ' a ',
  'a\nb',
  '\u{1F600}',
  '\u{1F600}a',
  '-',
  ']',
  'é',
  '\ud83d',
  '\t',
  'A_z',
];

test.each([
  '',
  'a',
  '^a$',
  'a*b',
  '(a|aa)+b',
  'a{2}',
  '^a{1,2}$',
  '^a{2,}$',
  'a+?b',
  '(?:a|b)*1',
  '.',
  '^.$',
  '^.{2}$',
  '\\d',
  '\\D',
  '\\w\\W',
  '\\ba\\b',
  '\\Ba',
  '[a-c1]',
  '[^a]',
  '[\\]\\-]',
  '^[^\\n]*$',
  '\\p{L}',
  '\\P{Lu}',
  '\\u{1F600}',
  '\\ud83d\\ude00',
  '\\ud83d',
  '\\x61',
  '\\cI',
  '\\t',
  '[\\-]|\\]',
  '(?<name>a)b',
  'a(?=b)',
  'a(?!b)',
  '(?<=a)b',
  '(?<!a)b',
  '(?<=^(a|aa))b',
  '(?=.*1)^a',
  '(^|b)(a|$)',
  '()*a',
  '(a*)*b',
  '|a',
  '^$',
  '[]',
  '[^]',
])('/%s/u matches like RegExp', (source) => {
  const pattern = new Pattern(source, new Work());
  const found = TEXTS.filter((text) => pattern.test(text, new Work()));
  expect(found).toEqual(TEXTS.filter((text) => new RegExp(source, 'u').test(text)));
});

test.each(['^(a+)+$', '(a|aa)*$', '(.|.|.)*\\u0001$', 'a*a*a*a*b', '(?=(a+)+b)', '(?<=(a+)+)b'])(
  '/%s/u takes a number of steps in proportion to the text',
  (source) => {
    const pattern = new Pattern(source, new Work());
    const steps = [200, 400].map((length) => {
      const work = new Work();
      pattern.test(`${'a'.repeat(length)}!`, work);
      return work.taken;
    });
    // For twice the text, lookaround at each position takes four times the steps, and nothing takes more.
    expect(steps[1]! / steps[0]!).toBeLessThan(4.1);
  },
);

test('the steps and the size of a pattern are limited', () => {
  expect(() => new Pattern('((a{1,1000}){1,1000}){1,1000}', new Work())).toThrow(TooMuchWork);
  expect(() => new Pattern('a*b', new Work()).test('a'.repeat(1_000_000), new Work(1000))).toThrow(TooMuchWork);
});

// The square of the second number is 2 ** 32.
test.each([60_000, 65_536, 92_682])('a class of %d characters takes too many steps', (length) => {
  expect(() => new Pattern(`[${'a'.repeat(length - 1)}]`, new Work())).toThrow(TooMuchWork);
});
