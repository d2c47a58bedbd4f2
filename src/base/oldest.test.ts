import { expect, test } from 'vitest';
import { Oldest } from './oldest.ts';

test('the oldest key comes first, also after all were deleted or the map was cleared', () => {
  const map = new Map<number, string>();
  const oldest = new Oldest(map);
  const forget = (): number | undefined => {
    const key = oldest.take();
    map.delete(key!);
    return key;
  };
  expect(forget()).toBeUndefined();
  for (const key of [1, 2, 3]) map.set(key, '');
  map.delete(1);
  map.set(1, 'again');
  expect([forget(), forget(), forget(), forget()]).toEqual([2, 3, 1, undefined]);
  map.set(4, '').set(5, '');
  expect(forget()).toBe(4);
  map.clear();
  map.set(6, '');
  expect([forget(), forget()]).toEqual([6, undefined]);
});
