import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
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

test.each(['before', 'after'])('changes of the map keep no memory %s the first key was taken', async (when) => {
  const collect = garbageCollector();
  const map = new Map<number, string>([[1, '']]);
  const oldest = new Oldest(map);
  if (when === 'after') map.delete(oldest.take()!);
  await setImmediate();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 200_000; n += 1) {
    map.set(1, '');
    map.delete(1);
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  map.set(2, '');
  expect(oldest.take()).toBe(2);
});
