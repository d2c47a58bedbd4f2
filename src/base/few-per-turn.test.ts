import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { FewPerTurn } from './few-per-turn.ts';
import { nextTurn } from './wait.ts';

test('ten functions run at once, and the further ones in the next turns, in order', async () => {
  const turns = new FewPerTurn();
  const ran: number[] = [];
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  for (const i of numbers(25)) turns.run(() => ran.push(i));
  expect(ran).toEqual(numbers(10));
  await nextTurn();
  expect(ran).toEqual(numbers(20));
  turns.run(() => ran.push(25));
  await nextTurn();
  expect(ran).toEqual(numbers(26));
  await nextTurn();
  turns.run(() => ran.push(26));
  expect(ran).toEqual(numbers(27));
});

test('a function that waits for its turn keeps its asynchronous context', async () => {
  const storage = new AsyncLocalStorage<number>();
  const turns = new FewPerTurn(1);
  const found: unknown[] = [];
  for (const i of [1, 2, 3]) storage.run(i, () => turns.run(() => found.push(storage.getStore())));
  await nextTurn();
  await nextTurn();
  expect(found).toEqual([1, 2, 3]);
});
