import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { Upstream } from '../wire/upstream.ts';
import { NoConnection } from './errors.ts';
import { Link } from './link.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A way to a server that cannot be connected to, until it is mended. */
class Broken {
  attempts = 0;
  mended = false;
  readonly link: Link;
  constructor(error: Error) {
    this.link = new Link({
      open: () => {
        this.attempts += 1;
        return this.mended ? Promise.resolve(upstream()) : Promise.reject(error);
      },
      reopens: true,
      onopen: () => {},
      onerror: () => {},
    });
  }

  /** How a call ends; all that it waits for is waited for, up to so many milliseconds. */
  async call(milliseconds = 1000): Promise<Error | undefined> {
    const failed = this.link.service(new TestExchange('tools/call')).then(
      () => undefined,
      (error: Error) => error,
    );
    await vi.advanceTimersByTimeAsync(milliseconds);
    return failed;
  }
}

function upstream(): Upstream {
  return {
    service: () => Promise.resolve({}),
    revision: '2025-11-25',
    discovered: { supportedVersions: [], capabilities: {}, serverInfo: { name: 's', version: '1' } },
    closed: false,
    onclose: undefined,
    close: () => Promise.resolve(),
  } as unknown as Upstream;
}

test('after five failures in a row calls fail at once, with what the server said last, until it is tried again', async () => {
  const died = Object.assign(new Error('node exited with code 1: no key'), { stderr: 'reading a.json\nno key' });
  const broken = new Broken(new NoConnection(`Cannot connect: ${died.message}`, { cause: died }));
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    expect((await broken.call(attempt < 6 ? 1000 : 0))?.message).toBe(
      'Cannot connect: node exited with code 1: no key',
    );
    expect(broken.attempts).toBe(attempt);
  }
  // 1.6 seconds after the sixth.
  const refused = await broken.call(0);
  expect(refused).toBeInstanceOf(NoConnection);
  expect(refused?.message).toMatch(
    /^The server failed 6 times in a row, and is tried again in \d+ ms: Cannot connect: node exited with code 1: no key\nreading a\.json\nno key$/,
  );
  expect(broken.attempts).toBe(6);
  await vi.advanceTimersByTimeAsync(2000);
  broken.mended = true;
  expect(await broken.call()).toBeUndefined();
  expect(broken.attempts).toBe(7);
});

test('a server that answers between its failures is waited for', async () => {
  let last: Upstream | undefined;
  const link = new Link({
    open: () => Promise.resolve((last = upstream())),
    reopens: true,
    onopen: () => {},
    onerror: () => {},
  });
  for (let death = 0; death < 10; death += 1) {
    const answer = link.service(new TestExchange('tools/call'));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answer).toEqual({});
    last?.onclose?.();
  }
});

test('the pauses are no longer than two seconds', async () => {
  const broken = new Broken(new NoConnection('Cannot connect: nobody there'));
  for (let attempt = 1; attempt <= 30; attempt += 1) {
    await broken.call();
    expect(broken.attempts).toBe(attempt);
    await vi.advanceTimersByTimeAsync(2000);
  }
});

test('a call waits for an attempt that is due within a second, however often others failed', async () => {
  const broken = new Broken(new NoConnection('Cannot connect: nobody there'));
  for (let attempt = 1; attempt <= 30; attempt += 1) {
    await broken.call();
    await vi.advanceTimersByTimeAsync(2000);
  }
  expect((await broken.call())?.message).toBe('Cannot connect: nobody there');
  // It failed a second ago.
  broken.mended = true;
  const { attempts } = broken;
  const answer = broken.link.service(new TestExchange('tools/call'));
  await vi.advanceTimersByTimeAsync(900);
  expect(broken.attempts).toBe(attempts);
  await vi.advanceTimersByTimeAsync(100);
  expect(await answer).toEqual({});
});

describe('a connection that is retired', () => {
  /** A link whose calls are answered by hand. */
  async function retiring() {
    const answers: ((error?: Error) => void)[] = [];
    const closed: Upstream[] = [];
    const opened: Upstream[] = [];
    const onlost = vi.fn<() => void>();
    const link = new Link({
      open: () => {
        const one: Upstream = {
          ...upstream(),
          service: () =>
            new Promise((resolve, reject) => {
              answers.push((error) => (error ? reject(error) : resolve({})));
            }),
          close: () => {
            closed.push(one);
            return Promise.resolve();
          },
        };
        opened.push(one);
        return Promise.resolve(one);
      },
      reopens: true,
      onopen: () => {},
      onlost,
      onerror: () => {},
    });
    const first = await link.connect();
    return { link, answers, closed, opened, onlost, first };
  }
  const exchange = (method = 'tools/call'): TestExchange => new TestExchange(method);

  test('is closed when the last call in flight has settled, and other calls go through another', async () => {
    const { link, answers, closed, opened, onlost, first } = await retiring();
    const calls = [link.service(exchange()), link.service(exchange())];
    link.retire(first);
    link.retire(first);
    expect(onlost).toHaveBeenCalledOnce();
    const next = link.service(exchange());
    await vi.advanceTimersByTimeAsync(0);
    expect(opened).toHaveLength(2);
    answers[0]!();
    await calls[0];
    expect(closed).toEqual([]);
    answers[1]!(new Error('refused'));
    await expect(calls[1]).rejects.toThrow('refused');
    expect(closed).toEqual([first]);
    answers[2]!();
    expect(await next).toEqual({});
    expect(link.current).toBe(opened[1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is closed at once where nothing but a listener goes on over it', async () => {
    const { link, closed, first } = await retiring();
    void link.service(exchange('subscriptions/listen'));
    link.retire(first);
    expect(closed).toEqual([first]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is closed after five seconds, whatever goes on over it', async () => {
    const { link, closed, first } = await retiring();
    void link.service(exchange());
    link.retire(first);
    await vi.advanceTimersByTimeAsync(4999);
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(closed).toEqual([first]);
  });

  test('is closed with the link', async () => {
    const { link, closed, first } = await retiring();
    void link.service(exchange());
    link.retire(first);
    await link.close(new Error('closed'));
    expect(new Set(closed)).toEqual(new Set([first]));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is no failure: the next is made at once, however often', async () => {
    const { link, opened } = await retiring();
    for (let change = 0; change < 20; change += 1) link.retire(await link.connect());
    expect(opened).toHaveLength(20);
  });
});
