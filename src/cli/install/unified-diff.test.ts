import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { unifiedDiff } from './unified-diff.ts';

const numbers = (count: number): string => Array.from({ length: count }, (_, at) => `${at}\n`).join('');

test('a difference has three lines of context', () => {
  const before = numbers(12);
  expect(unifiedDiff('/f', before, before.replace('5\n', '5\nnew\n'))).toEqual([
    ...['--- /f', '+++ /f', '@@ -4,6 +4,7 @@', ' 3', ' 4', ' 5', '+new', ' 6', ' 7', ' 8'],
  ]);
  expect(unifiedDiff('/f', before, before.replace('0\n', '').replace('1\n', 'one\n'))).toEqual([
    ...['--- /f', '+++ /f', '@@ -1,5 +1,4 @@', '-0', '-1', '+one', ' 2', ' 3', ' 4'],
  ]);
});

test('a new file has only new lines', () => {
  expect(unifiedDiff('/f', undefined, 'a\nb')).toEqual([
    ...['--- /dev/null', '+++ /f', '@@ -0,0 +1,2 @@', '+a', '+b', '\\ No newline at end of file'],
  ]);
});

test('a difference contains both texts', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const [, , head, ...lines] = unifiedDiff('/f', before, after);
      const [, start, count, newCount] = /^@@ -(\d+),(\d+) \+\d+,(\d+) @@$/.exec(head!)!.map(Number);
      const side = (mark: string): string[] =>
        lines.filter((line) => line[0] === ' ' || line[0] === mark).map((line) => line.slice(1));
      expect([side('-').length, side('+').length]).toEqual([count, newCount]);
      const old = before === '' ? [] : before.replace(/\n$/, '').split('\n');
      const from = Math.max(0, start! - 1);
      expect(old.slice(from, from + count!)).toEqual(side('-'));
      const whole = [...old.slice(0, from), ...side('+'), ...old.slice(from + count!)];
      const expected = after === '' ? [] : after.replace(/\n$/, '').split('\n');
      expect(whole).toEqual(expected);
    }),
  );
});
