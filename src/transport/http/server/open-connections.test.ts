import { afterEach, expect, test, vi } from 'vitest';
import { OpenConnections } from './open-connections.ts';

const MANY = 3000;

afterEach(() => void vi.useRealTimers());

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function kept() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const connections = new OpenConnections(1000, 0);
  let comments = 0;
  const all = Array.from({ length: MANY }, () => ({ keepAlive: () => void (comments += 1) }));
  for (const each of all) connections.add(each);
  return { connections, all, comments: () => comments };
}

test('thousands of streams are kept alive in turns, so that others are served in between', async () => {
  const { comments } = kept();
  vi.advanceTimersByTime(1000);
  expect(comments()).toBeGreaterThan(0);
  expect(comments()).toBeLessThan(MANY);
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect(comments()).toBe(MANY);
});

test('a stream that ends before its turn gets no comment', async () => {
  const { connections, all, comments } = kept();
  vi.advanceTimersByTime(1000);
  const before = comments();
  for (const each of all) connections.delete(each);
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  expect(comments()).toBe(before);
});
