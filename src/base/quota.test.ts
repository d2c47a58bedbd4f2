import { expect, test } from 'vitest';
import { Quota } from './quota.ts';

test('one owner has a limit, which does not affect others', () => {
  const quota = new Quota(10, 3);
  expect(quota.take('ada', 3)).toBe(true);
  expect(quota.take('ada', 1)).toBe(false);
  expect(quota.take('bob', 3)).toBe(true);
});

test('all owners together have a limit, and so do requests without an owner', () => {
  const quota = new Quota(10, 3);
  expect(quota.take(undefined, 9)).toBe(true);
  expect(quota.take('ada', 2)).toBe(false);
  expect(quota.take(undefined, 2)).toBe(false);
  expect(quota.take('ada', 1)).toBe(true);
});

test('a released unit can be taken again, and a refused attempt takes nothing', () => {
  const quota = new Quota(4, 3);
  quota.take('ada', 2);
  quota.take('ada', 1);
  expect(quota.take('ada', 1)).toBe(false);
  quota.giveBack('ada', 3);
  expect(quota.take('ada', 3)).toBe(true);
  expect(quota.take(undefined, 1)).toBe(true);
  quota.giveBack(undefined, 1);
  expect(quota.take(undefined, 2)).toBe(false);
});
