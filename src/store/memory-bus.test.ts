import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { busSuite } from '../testing/contracts/bus-suite.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { BusCalls } from './bus-calls.ts';
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

describe('calls', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('to processes that do not exist cause no further messages', async () => {
    const kinds: string[] = [];
    const send = async (_: string, kind: string): Promise<boolean> => {
      kinds.push(kind);
      return false;
    };
    const calls = new BusCalls('a', { send, on: () => () => {} }, async () => false);
    const outcomes = Array.from({ length: 50 }, (_, n) => calls.call(`made-up-${n}`, 'kind', {}));
    expect((await Promise.allSettled(outcomes)).map(({ status }) => status)).not.toContain('fulfilled');
    await vi.advanceTimersByTimeAsync(120_000);
    expect(kinds).toEqual(Array(50).fill('call'));
  });

  test('that were answered are not sent again if only the confirmation was lost', async () => {
    const join = memoryBus();
    const [sender, b] = [join('a'), join('b')];
    let lost = false;
    const send = async (...[to, kind, body]: Parameters<typeof sender.send>): Promise<boolean> => {
      const taken = await sender.send(to, kind, body);
      if (kind !== 'call' || lost) return taken;
      lost = true;
      await new Promise((resolve) => void setTimeout(resolve, 5000));
      throw new Error('not confirmed');
    };
    const a = new BusCalls('a', { send, on: sender.on }, async () => true);
    let runs = 0;
    b.answer('once', async () => ({ runs: (runs += 1) }));
    b.answer('other', async () => ({}));
    expect(await a.call('b', 'once', {})).toEqual({ runs: 1 });
    // As many as a process may answer in some seconds.
    const others = Promise.all(Array.from({ length: 2000 }, () => a.call('b', 'other', {})));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await others).toHaveLength(2000);
    expect(runs).toBe(1);
  });

  test('end with an error if their answer cannot be written as JSON', async () => {
    const join = memoryBus();
    const [a, b] = [join('a'), join('b')];
    b.answer('result', async () => ({ value: 1n }));
    b.answer('error', () => Promise.reject(new RpcError(-32001, 'no', { data: 1n })));
    const outcomes = ['result', 'error'].map((kind) => a.call('b', kind, {}).catch((error: unknown) => error));
    await vi.advanceTimersByTimeAsync(60_000);
    const late = new Promise((resolve) => void setTimeout(resolve, 1, 'no answer'));
    const ended = Promise.all(outcomes.map((outcome) => Promise.race([outcome, late])));
    await vi.advanceTimersByTimeAsync(1);
    expect(await ended).toMatchObject([{ code: -32603 }, { code: -32603 }]);
  });
});
