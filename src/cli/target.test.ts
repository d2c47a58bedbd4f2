import { expect, test } from 'vitest';
import { childEnvironment } from '../transport/stdio/child-environment.ts';
import { childEnv } from './target.ts';

const own = { Path: 'C:\\Windows', Api_Key: 'of the bridge', OTHER: 'of another server', Mine: 'before' };

test.each([
  ['win32', ['Mine', 'Path']],
  ['linux', ['Api_Key', 'Mine', 'Path']],
] as const)('on %s, a command does not get the variables of others', (platform, names) => {
  const target = { kind: 'command', command: 'node', args: [], env: { Mine: 'given' }, withheld: ['OTHER'] } as const;
  const given = childEnvironment(childEnv(target, ['API_KEY'], own, platform), own, platform);
  const present = Object.keys(given).filter((name) => given[name] !== undefined);
  expect(present.toSorted()).toEqual(names);
  expect(given['Mine']).toBe('given');
});

test('on Windows, a command gets a withheld variable that its own settings name in another case', () => {
  const target = { kind: 'command', command: 'node', args: [], env: { other: 'given' }, withheld: ['OTHER'] } as const;
  const given = childEnvironment(childEnv(target, [], own, 'win32'), own, 'win32');
  expect(given).toMatchObject({ other: 'given' });
  expect(given).not.toHaveProperty('OTHER');
});
