import { expect, test, vi } from 'vitest';
import { countTurns } from '../../../../test/support/turns.ts';
import { Grace } from './grace.ts';

test('of thousands of calls that came together, few begin their streams in one turn of the event loop', async () => {
  const count = countTurns();
  const turnOf: number[] = [];
  for (let call = 0; call < 1000; call += 1) void new Grace(1, () => void turnOf.push(count()));
  await vi.waitFor(() => expect(turnOf).toHaveLength(1000));
  const inOneTurn = Array.from(new Set(turnOf), (turn) => turnOf.filter((each) => each === turn).length);
  expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(100);
});

test('a reply that is complete before its turn begins no stream', async () => {
  const begun: number[] = [];
  const all = Array.from({ length: 200 }, (_, call) => {
    const grace = new Grace(1, () => {
      begun.push(call);
      grace.end();
      // The others have expired, too, and wait for their turn.
      if (begun.length === 1) for (const other of all.slice(100)) other.end();
    });
    return grace;
  });
  await new Promise<void>((resolve) => void new Grace(1, resolve));
  expect(begun).toEqual(Array.from({ length: 100 }, (_, call) => call));
});
