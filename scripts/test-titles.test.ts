import { expect, test } from 'vitest';
import { testTitles } from './test-titles.ts';

const titles = (...lines: string[]): string[] => [...testTitles(lines.join('\n'))];

test('titles can be any kind of string, and follow the titles of their suites', () => {
  expect(
    titles(
      "import { test } from 'vitest';",
      "describe('a', () => {",
      "  describe.skipIf(!linux)('b', () => {",
      '    it("it\'s c", async ({ signal }: TestContext) => {});',
      '  });',
      '  test.concurrent(`d`, () => {});',
      '});',
      "test('e', { timeout: 5 }, () => void test2('f', () => {}));",
    ),
  ).toEqual(["a › b › it's c", 'a › d', 'e']);
});

test('a table gives its template, and one title for each row of literals', () => {
  expect(
    titles(
      'test.each<[unknown, number]>([',
      "  ['a', 1],",
      '  [b, 2],',
      "  ['c', ...d],",
      "] as const)('%j of %i', (_) => {});",
      "describe.each(['x', `y`])('in %s', (_) => {",
      "  test('z', () => {});",
      '});',
      "test.each(rows)('100 %s', () => {});",
    ),
  ).toEqual(['%j of %i', '"a" of 1', 'in %s › z', 'in x › z', 'in y › z', '100 %s']);
});

test('a computed title is given as written', () => {
  expect(titles('test(`${n} of ${m}`, () => {});', 'for (const { name, run } of cases) test(name, run);')).toEqual([
    '${n} of ${m}',
    '${name}',
  ]);
});

test('other calls, comments and strings declare no tests', () => {
  expect(
    titles("// test('a', () => {});", 'const b = "test(\'b\', () => {})";', "retest('c', () => {});", 'test.skip();'),
  ).toEqual([]);
});

test('a syntax error is reported', () => {
  expect(() => titles("test('a', () => {")).toThrow('Expected');
});
