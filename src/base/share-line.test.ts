import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { deferred, settled } from '../../test/support/service.ts';
import { ShareLine } from './share-line.ts';

describe('work of one share', () => {
  /** Begins work that ends when it is told so. */
  function working() {
    const line = new ShareLine(3, 100, 60_000);
    const begun: string[] = [];
    const work = (name: string, share: string, bytes: number, signal?: AbortSignal) => {
      const go = deferred();
      const done = line.within(share, bytes, signal, async () => {
        begun.push(name);
        await go.promise;
      });
      return { end: () => go.resolve(), done };
    };
    return { begun, work };
  }

  test('waits in line for its share, and not for others', async () => {
    const { begun, work } = working();
    const first = work('a1', 'a', 150);
    work('a2', 'a', 60);
    work('a3', 'a', 60);
    work('a4', 'a', 1);
    work('b1', 'b', 99);
    expect(begun).toEqual(['a1', 'b1']);
    first.end();
    await settled();
    // The fourth one has room, and does not overtake the third.
    expect(begun).toEqual(['a1', 'b1', 'a2']);
  });

  test('is limited in number', async () => {
    const { begun, work } = working();
    const works = [1, 2, 3, 4, 5].map((n) => work(`${n}`, 'a', 0));
    expect(begun).toEqual(['1', '2', '3']);
    works[1]!.end();
    await settled();
    expect(begun).toEqual(['1', '2', '3', '4']);
  });

  test('does not begin if its wait has ended, and lets the next one begin', async () => {
    const { begun, work } = working();
    const abort = new AbortController();
    const first = work('a1', 'a', 50);
    const second = work('a2', 'a', 100, abort.signal);
    work('a3', 'a', 50);
    abort.abort(new Error('enough'));
    await expect(second.done).rejects.toThrow('enough');
    await settled();
    expect(begun).toEqual(['a1', 'a3']);
    first.end();
    await first.done;
  });

  test.each([0, 1, 2, 3, 4, 5, 6])('leaves no room taken if its turn comes as its wait ends: %i', async (turns) => {
    const { begun, work } = working();
    const abort = new AbortController();
    const first = work('a1', 'a', 100);
    const second = work('a2', 'a', 100, abort.signal);
    second.done.catch(() => {});
    first.end();
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    abort.abort(new Error('enough'));
    second.end();
    await settled();
    const third = work('a3', 'a', 100);
    expect(begun).toContain('a3');
    third.end();
  });
});

test('work that has waited too long fails in several turns of the event loop', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const line = new ShareLine(1, 100, 5000);
  let failed = 0;
  const count = (): void => void (failed += 1);
  const wait = (): void => void line.within('a', 0, undefined, () => new Promise<void>(() => {})).catch(count);
  for (let n = 0; n <= 3000; n += 1) wait();
  await settled();
  vi.advanceTimersByTime(6000);
  await settled();
  expect(failed).toBeLessThan(1500);
  await vi.waitFor(() => expect(failed).toBe(3000), 30_000);
});
