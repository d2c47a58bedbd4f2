import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { busSuite } from '../testing/contracts/bus-suite.ts';
import { AnswerLost } from './bus.ts';
import { memoryBus } from './memory-bus.ts';

const suite = busSuite(async (count) => {
  const gone = new Set<string>();
  const join = memoryBus((node) => !gone.has(node));
  return Array.from({ length: count }, (_, n) => {
    const node = `n${n}`;
    return { node, bus: join(node), end: async () => void gone.add(node) };
  });
});

for (const { name, run } of suite) test(name, run);

describe('if a process seemed gone to the other one, and goes on', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function pair() {
    const gone = new Set<string>();
    const join = memoryBus((node) => !gone.has(node));
    const [a, b] = [join('a'), join('b')];
    const signals: AbortSignal[] = [];
    b.answer('kind', (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    const outcome = a.call('b', 'kind', {}).catch((error: unknown) => error);
    return { a, gone, signals, outcome };
  }

  test('its calls end', async () => {
    const { gone, signals, outcome } = pair();
    await vi.advanceTimersByTimeAsync(0);
    gone.add('a');
    await vi.advanceTimersByTimeAsync(1000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    gone.delete('a');
    await vi.advanceTimersByTimeAsync(5000);
    expect(await outcome).toBeInstanceOf(AnswerLost);
  });

  test('what it still does for the other one ends', async () => {
    const { a, gone, signals, outcome } = pair();
    await vi.advanceTimersByTimeAsync(0);
    gone.add('b');
    await vi.advanceTimersByTimeAsync(1000);
    expect(await outcome).toBeInstanceOf(AnswerLost);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    gone.delete('b');
    const other = a.call('b', 'kind', {}).catch(() => {});
    await vi.advanceTimersByTimeAsync(5000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    gone.add('b');
    await vi.advanceTimersByTimeAsync(1000);
    await other;
  });
});
