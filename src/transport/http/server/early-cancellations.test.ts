import { expect, test, vi } from 'vitest';
import type { RequestId } from '../../../jsonrpc/message.ts';
import { EarlyCancellations } from './early-cancellations.ts';

/** Which of the requests have been cancelled already, if they come in this order. */
function cancelled(early: EarlyCancellations, ids: readonly RequestId[]): RequestId[] {
  return ids.filter((id) => early.take(id));
}

test('a cancellation that comes first cancels its request, once', () => {
  const early = new EarlyCancellations();
  early.add(3);
  early.add('a');
  expect(cancelled(early, [1, 2, 3, 'a', 3, 'a'])).toEqual([3, 'a']);
});

test('a cancellation that comes after its request is ignored, whatever the order of the requests', () => {
  const early = new EarlyCancellations();
  expect(cancelled(early, [0, 2, 1, 5, 33, 30])).toEqual([]);
  for (const used of [2, 5, 33, 30]) early.add(used);
  for (const unused of [3, 32, 34]) early.add(unused);
  expect(cancelled(early, [2, 3, 5, 30, 32, 33, 34])).toEqual([3, 32, 34]);
});

test('a client that counts from 0 again is not cancelled by what it cancelled late', () => {
  const early = new EarlyCancellations();
  for (let id = 0; id <= 1000; id += 1) early.take(id);
  early.add(1000);
  early.take(0);
  early.add(0);
  expect(cancelled(early, [0, 1, 1000])).toEqual([]);
  early.add(3);
  expect(cancelled(early, [2, 3])).toEqual([3]);
});

test.each([-7, 1.5, 1e300, -1e300, Number.MAX_SAFE_INTEGER])('the id %d is cancelled like any other', (id) => {
  const early = new EarlyCancellations();
  early.take(0);
  early.add(id);
  expect(cancelled(early, [id])).toEqual([id]);
  early.add(id);
  expect(cancelled(early, [id])).toEqual([]);
});

test('a cancellation without a request is forgotten after 10 seconds', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const early = new EarlyCancellations();
  early.add(1);
  early.add(2);
  now.mockReturnValue(9_999);
  expect(early.take(1)).toBe(true);
  now.mockReturnValue(10_000);
  expect(early.take(2)).toBe(false);
  now.mockRestore();
});
