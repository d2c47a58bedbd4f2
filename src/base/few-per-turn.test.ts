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
