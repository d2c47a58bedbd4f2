import { expect, test } from 'vitest';
import { collidingNumbers } from '../../../test/support/colliding-numbers.ts';
import { duplicate } from './duplicate.ts';

test('a list is searched for duplicates in linear time, also if it has numbers with one hash', () => {
  const list = [...collidingNumbers(40_000), 'a', 'b', 'a'].map((name) => ({ name }));
  const started = process.cpuUsage();
  expect(duplicate(list, 'name')).toContain('twice');
  expect(process.cpuUsage(started).user).toBeLessThan(500_000);
});
