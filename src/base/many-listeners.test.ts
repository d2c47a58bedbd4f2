import { getMaxListeners } from 'node:events';
import { expect, test } from 'vitest';
import { allowManyListeners } from './many-listeners.ts';

test('a library can read how many listeners a signal may have', () => {
  const { signal } = new AbortController();
  allowManyListeners(signal);
  // As `fetch` of undici 7 does. In Node 20, this throws if the limit is 0.
  expect(getMaxListeners(signal)).toBe(Infinity);
});
