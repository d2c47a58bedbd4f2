import { expect, test } from 'vitest';
import { refuseVariants } from './exact-keys.ts';

test.each(['Name', 'NAME', 'na_me', 'n-a-m-e', ' name', 'name​'])(
  'the key %j is refused, for "name" is meant',
  (key) => {
    expect(() => refuseVariants({ name: 'a', [key]: 'b' }, 'name')).toThrow('is not accepted; write "name"');
  },
);

test('other keys are accepted', () => {
  expect(() => refuseVariants({ name: 'a', names: 'b', ['x'.repeat(200)]: 1 }, 'name')).not.toThrow();
});

test('the largest objects that a message can hold are refused at once', () => {
  const many = Object.fromEntries(Array.from({ length: 95_000 }, (_, i) => [`k${i}`, 0]));
  const long = ['İ', 'ß', '-', '-a'].map((part) => ({ [part.repeat((4 * 1024 * 1024) / part.length)]: 0 }));
  const { user, system } = process.cpuUsage();
  for (const object of [many, ...long]) {
    expect(() => refuseVariants(object, 'name')).toThrow(
      'an object with "name" must not have more than 1000 keys, of 200 characters each',
    );
  }
  const used = process.cpuUsage();
  expect((used.user + used.system - user - system) / 1000).toBeLessThan(250);
});
