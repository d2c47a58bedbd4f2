import { expect, test } from 'vitest';
import { nearest, suggestion } from './nearest.ts';

const known = ['location', 'limit', 'a', 'sort_by'];

test.each([
  ['locaton', 'location'],
  ['loaction', 'location'],
  ['LIMIT', 'limit'],
  ['sortby', 'sort_by'],
  ['limits', 'limit'],
  ['ab', 'a'],
])('%s suggests %s', (word, meant) => {
  expect(nearest(word, known)).toBe(meant);
});

test('a word that is not similar to any other suggests nothing', () => {
  expect(nearest('country', known)).toBeUndefined();
  expect(suggestion('country', known)).toBe('');
});
