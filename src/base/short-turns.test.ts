import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { countTurns } from '../../test/support/turns.ts';
import { inShortTurns } from './short-turns.ts';
import { nextTurn } from './wait.ts';

/** Work that takes longer than one turn may. */
function costly<T>(result: T): T {
  const end = performance.now() + 25;
  while (performance.now() < end);
  return result;
}

test('cheap work runs at once', async () => {
  expect(Array.from({ length: 100 }, (_, i) => inShortTurns(() => i))).toEqual(
    Array.from({ length: 100 }, (_, i) => i),
  );
  await nextTurn();
});

test('costly work runs in turns of its own, in order, and cheap work after it', async () => {
  const count = countTurns();
  const ran: string[] = [];
  const at: number[] = [];
  const all = ['a', 'b', 'c', 'd'].map((name) =>
    Promise.resolve(
      inShortTurns(() => {
        ran.push(costly(name));
        at.push(count());
        return name;
      }),
    ),
  );
  const cheap = [1, 2].map((number) => Promise.resolve(inShortTurns(() => ran.push(`cheap ${number}`))));
  expect(ran).toEqual(['a']);
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  await Promise.all(cheap);
  expect(ran).toEqual(['a', 'b', 'c', 'd', 'cheap 1', 'cheap 2']);
  expect(new Set(at).size).toBe(4);
  await nextTurn();
  await nextTurn();
  expect(inShortTurns(() => 'at once')).toBe('at once');
});

test('cheap work that waited runs in several turns if its callers take long', async () => {
  const count = countTurns();
  const first = inShortTurns(() => costly('first'));
  const at = await Promise.all(
    Array.from({ length: 12 }, async () => {
      await inShortTurns(() => {});
      const turn = count();
      costly('what follows');
      return turn;
    }),
  );
  expect(new Set(at).size).toBeGreaterThan(3);
  expect(first).toBe('first');
  await nextTurn();
  await nextTurn();
});

test('work inside costly work waits for the next turn, and inside cheap work it does not', async () => {
  const ran: string[] = [];
  const both = inShortTurns(() => {
    ran.push(costly('outer'));
    const inner = inShortTurns(() => ran.push('inner'));
    ran.push('end of outer');
    return inner;
  });
  await both;
  expect(ran).toEqual(['outer', 'end of outer', 'inner']);
  await nextTurn();
  await nextTurn();
  expect(inShortTurns(() => inShortTurns(() => 'at once'))).toBe('at once');
});

test('peers take turns, however much one of them has to do', async () => {
  const ran: string[] = [];
  const start = (whose: string, count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, async () => await inShortTurns(() => ran.push(costly(whose)), whose)));
  const many = start('many', 12);
  await Promise.all([start('one', 2), start('other', 1)]);
  expect(ran).toEqual(['many', 'many', 'one', 'other', 'many', 'one']);
  await many;
  expect(ran).toHaveLength(15);
  await nextTurn();
  await nextTurn();
});

test('an error is the error of its own work, and the work keeps its asynchronous context', async () => {
  const storage = new AsyncLocalStorage<string>();
  const first = inShortTurns(() => costly('first'));
  const failed = inShortTurns((): string => {
    throw new Error('failed');
  });
  const found = await storage.run('mine', () => inShortTurns(() => storage.getStore()));
  expect([first, found]).toEqual(['first', 'mine']);
  await expect(failed).rejects.toThrow('failed');
});
