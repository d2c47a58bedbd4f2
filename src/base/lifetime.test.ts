import { expect, test } from 'vitest';
import { Lifetime } from './lifetime.ts';

class Work extends Lifetime {
  override settle(reason: Error): void {
    super.settle(reason);
  }

  override fire(reason: Error): void {
    super.fire(reason);
  }
}

test('the signal fires with the reason, whether it was first read before or after the end', () => {
  const reason = new Error('enough');
  const before = new Work();
  const { signal } = before;
  expect([signal.aborted, before.ended]).toEqual([false, undefined]);
  before.fire(reason);
  expect(signal.reason).toBe(reason);
  const after = new Work();
  after.fire(reason);
  expect(after.signal.reason).toBe(reason);
  expect(after.ended).toBe(reason);
});

test('a lifetime that has settled ends without notifying its listeners', () => {
  const work = new Work();
  const { signal } = work;
  work.settle(new Error('answered'));
  expect(signal.aborted).toBe(false);
  expect(work.ended).toMatchObject({ message: 'answered' });
});
