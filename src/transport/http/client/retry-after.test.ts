import { expect, test } from 'vitest';
import { retryAfter } from './retry-after.ts';

test('Retry-After is a number of seconds or a date', () => {
  const now = Date.UTC(2026, 0, 1);
  expect(retryAfter('2', now)).toBe(2000);
  expect(retryAfter(' 0 ', now)).toBe(0);
  expect(retryAfter('Thu, 01 Jan 2026 00:00:05 GMT', now)).toBe(5000);
  expect(retryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
  for (const none of [undefined, '', 'soon']) expect(retryAfter(none, now)).toBeUndefined();
});
