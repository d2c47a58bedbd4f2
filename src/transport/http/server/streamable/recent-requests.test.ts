import { expect, test } from 'vitest';
import { RecentRequests } from './recent-requests.ts';

test('the newest requests are known, up to the limit', () => {
  const recent = new RecentRequests(3);
  for (const id of [1, 2, 3, 4]) recent.add('session', id);
  expect([1, 2, 3, 4].map((id) => recent.has('session', id))).toEqual([false, true, true, true]);
});

test('a request is known by its session and its id, of which 1 and "1" are two', () => {
  const recent = new RecentRequests(10);
  for (const [session, id] of [
    ['a', 1],
    ['b', '1'],
    ['b', 2],
  ] as const)
    recent.add(session, id);
  const known = (session: string): boolean[] => [1, '1', 2].map((id) => recent.has(session, id));
  expect([known('a'), known('b'), known('c')]).toEqual([
    [true, false, false],
    [false, true, true],
    [false, false, false],
  ]);
});

test('what is removed is not known any more, however often it was added, and others are', () => {
  const recent = new RecentRequests(5);
  for (const id of [1, 2, 1]) recent.add('a', id);
  recent.add('b', 1);
  recent.delete('a', 1);
  expect([recent.has('a', 1), recent.has('a', 2), recent.has('b', 1)]).toEqual([false, true, true]);
  recent.add('a', 1);
  expect(recent.has('a', 1)).toBe(true);
});
