import { expect, test } from 'vitest';
import { Recent } from './recent.ts';

test('remembers the latest ids, up to the limit', () => {
  const recent = new Recent();
  for (let id = 0; id < 300; id += 1) recent.add(id);
  expect(recent.has(299)).toBe(true);
  expect(recent.has(43)).toBe(false);
  expect(recent.has(44)).toBe(true);
});

test('a stored value can be taken once', () => {
  const recent = new Recent<string>();
  recent.add(1, 'one');
  expect(recent.get(1)).toBe('one');
  expect([recent.take(1), recent.take(1), recent.take(2)]).toEqual(['one', undefined, undefined]);
});

test('an entry that is added again counts as added last', () => {
  const recent = new Recent(2);
  for (const id of [1, 2, 1, 3]) recent.add(id);
  expect([1, 2, 3].map((id) => recent.has(id))).toEqual([true, false, true]);
});
