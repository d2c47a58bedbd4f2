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

describe('the requested scopes', () => {
  test.each<[string, Partial<ScopeSources>, string[]]>([
    ['are empty if nothing names any', {}, []],
    ['are those of the challenge, whatever the metadata says', { challenged: ['a'], supported: ['b'] }, ['a']],
    ['are those of the metadata if the challenge has none', { supported: ['b', 'c'] }, ['b', 'c']],
    ['include those requested before', { challenged: ['a'], former: ['z'] }, ['z', 'a']],
    ['do not grow because the metadata has changed', { supported: ['b'], former: ['z'] }, ['z']],
    ['include those that the application wants', { wanted: ['w'], challenged: ['a'], supported: ['b'] }, ['w', 'a']],
    ['are those that the application wants, not all that exist', { wanted: ['w'], supported: ['b'] }, ['w']],
    ['contain each scope once', { wanted: ['a'], challenged: ['a', 'b'], former: ['b'] }, ['a', 'b']],
    [
      'include offline_access if the server supports it',
      { challenged: ['a'], offered: ['offline_access'] },
      ['a', 'offline_access'],
    ],
    [
      'do not include offline_access if the server does not support it',
      { challenged: ['a'], offered: ['openid'] },
      ['a'],
    ],
    [
      'do not include offline_access if the application does not want it',
      { offered: ['offline_access'], offline: false },
      [],
    ],
  ])('%s', (_, sources, expected) => {
    expect(selectScopes({ ...none, ...sources })).toEqual(expected);
  });
});

test('a parameter without scopes is an empty list', () => {
  expect(scopesIn(undefined)).toBeUndefined();
  expect(scopesIn(' ')).toBeUndefined();
  expect(scopesIn('a  b')).toEqual(['a', 'b']);
});

test('an empty list includes an empty list', () => {
  expect(covers([], undefined)).toBe(true);
  expect(covers(['a', 'b'], ['b'])).toBe(true);
  expect(covers(['a'], ['a', 'b'])).toBe(false);
});

test('many scopes are compared in little time', () => {
  const scopes = Array.from({ length: 250_000 }, (_, index) => index.toString(36));
  const needed = Array.from({ length: 8000 }, () => scopes.at(-1)!);
  const started = process.cpuUsage();
  expect(covers(scopes, needed)).toBe(true);
  expect(process.cpuUsage(started).user).toBeLessThan(250_000);
});
