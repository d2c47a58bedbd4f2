import { expect, test } from 'vitest';
import { bytes, cut } from './screen.ts';
import { table } from './table.ts';

test('columns are aligned', () => {
  expect(
    table([
      ['add', 'a, b', 'Adds\ntwo'],
      ['multiply', '', 'Much'],
      ['bare', ''],
    ]),
  ).toBe('  add       a, b  Adds two\n  multiply        Much\n  bare\n');
});

test('lines are cut to the width of the terminal, and complete without a terminal', () => {
  const rows = [['name', 'x'.repeat(100)]];
  expect(table(rows, 20)).toBe(`  name  ${'x'.repeat(11)}…\n`);
  expect(table(rows)).toBe(`  name  ${'x'.repeat(100)}\n`);
});

test('the last of three columns goes below the others if there is no room', () => {
  const rows = [
    ['search', 'text: string, limit?: integer', 'Searches all documents for a text'],
    ['ping', '', ''],
  ];
  expect(table(rows, 80)).toBe('  search  text: string, limit?: integer  Searches all documents for a text\n  ping\n');
  expect(table(rows, 50)).toBe(
    '  search  text: string, limit?: integer\n      Searches all documents for a text\n  ping\n',
  );
  expect(table(rows, 32)).toBe('  search  text: string, limit?:…\n      Searches all documents fo…\n  ping\n');
});

test('a very long word affects only its own line', () => {
  expect(
    table([
      ['n'.repeat(80), 'one'],
      ['short', 'two'],
    ]).split('\n')[1],
  ).toBe(`  short${' '.repeat(57)}two`);
});

test('a table without rows has no lines', () => {
  expect(table([])).toBe('');
});

test.each([
  ['plain', 5, 'plain'],
  ['plain', 4, 'pla…'],
  ['plain', 0, '…'],
  ['', 0, ''],
  // Two columns each, and never cut in two.
  ['😀😀😀', 6, '😀😀😀'],
  ['😀😀😀', 5, '😀😀…'],
  ['😀😀😀', 4, '😀…'],
  ['搜索文件', 8, '搜索文件'],
  ['搜索文件', 7, '搜索文…'],
  ['𠀀𠀀', 3, '𠀀…'],
  ['ﾃｽﾄ', 3, 'ﾃｽﾄ'],
  ['⚠️⚠️', 4, '⚠️⚠️'],
  ['⚠️⚠️⚠️', 4, '⚠️⚠…'],
  // Combining marks take none, and stay with their letter.
  ['e\u0301e\u0301', 2, 'e\u0301e\u0301'],
  ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
])('%j is cut to %d columns', (text, width, expected) => {
  expect(cut(text, width)).toBe(expected);
});

test('columns of Chinese text are aligned', () => {
  expect(
    table([
      ['搜索', '一'],
      ['ping', 'two'],
    ]),
  ).toBe('  搜索  一\n  ping  two\n');
});

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.0 kB'],
  [12_345, '12 kB'],
  [999_999, '1.0 MB'],
  [25_000_000, '25 MB'],
])('%d bytes are shown in a readable unit', (count, expected) => {
  expect(bytes(count)).toBe(expected);
});
