import { describe, expect, test } from 'vitest';
import { deferred, settled } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { BusCalls } from './bus-calls.ts';
import { AnswerLost, BusListeners, NotTaken } from './bus.ts';
import type { CallLimits } from './call-room.ts';

interface PairOptions {
  readonly isAlive?: () => boolean;
  readonly onsend?: (kind: string) => void;
}

/** Two processes, of which the second has limits. */
function pair(limits: CallLimits, { isAlive = () => true, onsend }: PairOptions = {}): [a: BusCalls, b: BusCalls] {
  const listeners = { a: new BusListeners(), b: new BusListeners() };
  const join = (node: 'a' | 'b', ...more: [] | [CallLimits]): BusCalls => {
    const send = async (to: string, kind: string, body: JsonObject): Promise<boolean> => {
      const text = JSON.stringify(body);
      onsend?.(kind);
      await Promise.resolve();
      return listeners[to as 'a' | 'b'].take(kind, JSON.parse(text) as JsonObject, text.length);
    };
    return new BusCalls(node, { send, on: (...on) => listeners[node].on(...on) }, async () => isAlive(), ...more);
  };
  return [join('a'), join('b', limits)];
}

describe('calls of one share', () => {
  test.each([
    { of: 'number', limits: { calls: 16, bytes: 1e6 }, text: '', fit: 14 },
    { of: 'bytes', limits: { calls: 1000, bytes: 80_000 }, text: 'x'.repeat(9800), fit: 7 },
  ])('leave room for those of others: by $of', async ({ limits, text, fit }) => {
    const [a, b] = pair(limits);
    const go = deferred();
    b.answer('wait', async () => {
      await go.promise;
      return {};
    });
    const call = (share: string): Promise<JsonObject> => a.call('b', 'wait', { text }, { share });
    const greedy = Array.from({ length: fit + 3 }, () => call('greedy'));
    const outcomes = Promise.allSettled(greedy);
    for (const refused of greedy.slice(fit)) await expect(refused).rejects.toThrow(NotTaken);
    const other = call('other');
    go.resolve();
    expect(await other).toEqual({});
    expect((await outcomes).filter(({ status }) => status === 'fulfilled')).toHaveLength(fit);
    expect(await Promise.all(Array.from({ length: fit }, () => call('greedy')))).toHaveLength(fit);
  });

  test('have their room again when they were cancelled, or their process is gone', async () => {
    let alive = true;
    const [a, b] = pair({ calls: 16, bytes: 1e6 }, { isAlive: () => alive });
    const begun: AbortSignal[] = [];
    b.answer('wait', (_, { signal }) => {
      begun.push(signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    });
    b.answer('quick', async () => ({}));
    const abort = new AbortController();
    const fill = (signal?: AbortSignal): Promise<unknown>[] =>
      Array.from({ length: 14 }, () =>
        a
          .call('b', 'wait', {}, { share: 'greedy', signal: signal && AbortSignal.any([signal]) })
          .catch((error) => error),
      );
    const cancelled = fill(abort.signal);
    await expect.poll(() => begun.length).toBe(14);
    await expect(a.call('b', 'quick', {}, { share: 'greedy' })).rejects.toThrow(NotTaken);
    abort.abort(new Error('enough'));
    await Promise.all(cancelled);
    await expect.poll(() => a.call('b', 'quick', {}, { share: 'greedy' }).catch(() => 'full')).toEqual({});
    const lost = fill();
    await expect.poll(() => begun.length).toBe(28);
    alive = false;
    for (const error of await Promise.all(lost)) expect(error).toBeInstanceOf(AnswerLost);
    alive = true;
    await expect.poll(() => a.call('b', 'quick', {}, { share: 'greedy' }).catch(() => 'full')).toEqual({});
  });
});

test('a call that its process never got, because it was killed, did not run', async () => {
  let alive = true;
  const looked = deferred();
  // The message is withdrawn, which takes longer than to see that the process has ended.
  const withdrawn = deferred<boolean>();
  const carrier = { send: () => withdrawn.promise, on: () => {} };
  const isAlive = async (): Promise<boolean> => {
    if (!alive) looked.resolve();
    return alive;
  };
  const call = new BusCalls('a', carrier, isAlive).call('b', 'quick', {}).catch((error: unknown) => error);
  alive = false;
  await looked.promise;
  await settled();
  withdrawn.resolve(false);
  expect(await call).toBeInstanceOf(NotTaken);
});

test('the ends of many calls take a few messages', async () => {
  const sent: string[] = [];
  const [a, b] = pair({ calls: 5000, bytes: 1e6 }, { onsend: (kind) => sent.push(kind) });
  const begun: AbortSignal[] = [];
  b.answer('wait', (_, { signal }) => {
    begun.push(signal);
    return new Promise(() => {});
  });
  const abort = new AbortController();
  const calls = Array.from({ length: 3000 }, () => {
    const { signal } = abort;
    return a.call('b', 'wait', {}, { signal: AbortSignal.any([signal]) }).catch((error: unknown) => error);
  });
  await expect.poll(() => begun.length).toBe(3000);
  sent.length = 0;
  abort.abort(new Error('enough'));
  await Promise.all(calls);
  await expect.poll(() => begun.every(({ aborted }) => aborted)).toBe(true);
  expect(sent.length).toBeLessThan(50);
});
