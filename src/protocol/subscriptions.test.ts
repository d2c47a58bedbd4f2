import { expect, test } from 'vitest';
import { isWithin } from './subscriptions.ts';

test.each([
  ['file:///dir', 'file:///dir', true],
  ['file:///dir/a.txt', 'file:///dir', true],
  ['file:///dir/a.txt', 'file:///dir/', true],
  ['file:///directory', 'file:///dir', false],
  ['file:///', 'file:///dir', false],
  [undefined, 'file:///dir', false],
  ['file:///dir', 5, false],
])('whether %j is, or is a part of, %j: %s', (updated, uri, within) => {
  expect(isWithin(updated, uri)).toBe(within);
});
