import { describe, expect, test } from 'vitest';
import { covers, scopesIn, selectScopes, type ScopeSources } from './scopes.ts';

const none: ScopeSources = {
  wanted: [],
  challenged: undefined,
  supported: undefined,
  former: [],
  offered: undefined,
  offline: true,
};

describe('the scopes of a request', () => {
  test.each<[string, Partial<ScopeSources>, string[]]>([
    ['are none where nobody names any', {}, []],
    ['are those of the challenge, whatever the metadata says', { challenged: ['a'], supported: ['b'] }, ['a']],
    ['are those of the metadata without a challenge', { supported: ['b', 'c'] }, ['b', 'c']],
    ['hold those that were asked for before', { challenged: ['a'], former: ['z'] }, ['z', 'a']],
    ['do not grow by the metadata later', { supported: ['b'], former: ['z'] }, ['z']],
    ['hold those that the application wants', { wanted: ['w'], challenged: ['a'], supported: ['b'] }, ['w', 'a']],
    ['are those that the application wants rather than all there are', { wanted: ['w'], supported: ['b'] }, ['w']],
    ['name each once', { wanted: ['a'], challenged: ['a', 'b'], former: ['b'] }, ['a', 'b']],
    [
      'hold offline_access where the server knows it',
      { challenged: ['a'], offered: ['offline_access'] },
      ['a', 'offline_access'],
    ],
    ['do not hold it where the server does not', { challenged: ['a'], offered: ['openid'] }, ['a']],
    ['do not hold it where it is not wanted', { offered: ['offline_access'], offline: false }, []],
  ])('%s', (_, sources, expected) => {
    expect(selectScopes({ ...none, ...sources })).toEqual(expected);
  });
});

test('a parameter without scopes names none', () => {
  expect(scopesIn(undefined)).toBeUndefined();
  expect(scopesIn(' ')).toBeUndefined();
  expect(scopesIn('a  b')).toEqual(['a', 'b']);
});

test('nothing needed is covered by nothing', () => {
  expect(covers([], undefined)).toBe(true);
  expect(covers(['a', 'b'], ['b'])).toBe(true);
  expect(covers(['a'], ['a', 'b'])).toBe(false);
});
