import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { deferred } from '../../test/support/service.ts';
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
    // No longer than the longest pause: a connection that lived for five seconds has not failed when it is lost.
    await vi.advanceTimersByTimeAsync(2000);
    expect(await answer).toEqual({});
    last?.onclose?.();
  }
});

test('a connection that held for five seconds wipes out the failures before it', async () => {
  const opened: Upstream[] = [];
  let refuses = true;
  let attempts = 0;
  const link = new Link({
    open: () => {
      attempts += 1;
      if (refuses) return Promise.reject(new NoConnection('nobody there'));
      opened.push(upstream());
      return Promise.resolve(opened.at(-1)!);
    },
    reopens: true,
    onopen: () => {},
    onerror: () => {},
  });
  for (let failures = 0; failures < 2; failures += 1) await expect(link.connect()).rejects.toThrow('nobody there');
  refuses = false;
  const connecting = link.connect();
  await vi.advanceTimersByTimeAsync(100);
  const stable = await connecting;
  await vi.advanceTimersByTimeAsync(5000);
  refuses = true;
  stable.onclose?.();
  // The first two attempts come at once, as with a server that never failed.
  for (let attempt = 4; attempt <= 5; attempt += 1) {
    const failed = link.connect().catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(0);
    expect(attempts).toBe(attempt);
    expect(await failed).toBe('nobody there');
  }
});

test('a connection that is lost while it is made fails its call, and the next call makes another', async () => {
  const why = new Error('node exited with code 1');
  let attempts = 0;
  const onopen = vi.fn<() => void>();
  const link = new Link({
    open: () => {
      attempts += 1;
      return Promise.resolve(attempts === 1 ? { ...upstream(), closed: true, closeReason: why } : upstream());
    },
    reopens: true,
    onopen,
    onerror: () => {},
  });
  await expect(link.service(new TestExchange('tools/call'))).rejects.toMatchObject({
    name: 'ConnectionError',
    message: 'The connection was lost as soon as it was made',
    cause: why,
  });
  expect(onopen).not.toHaveBeenCalled();
  expect(await link.service(new TestExchange('tools/call'))).toEqual({});
});

describe('a link that is closed while it waits to connect', () => {
  /** A link to a server that failed twice, and a call that waits for the third attempt. */
  async function waiting() {
    let attempts = 0;
    const signals: AbortSignal[] = [];
    const link = new Link({
      open: (signal) => {
        attempts += 1;
        signals.push(signal);
        return Promise.reject(new NoConnection('nobody there'));
      },
      reopens: true,
      onopen: () => {},
      onerror: () => {},
    });
    for (let failures = 0; failures < 2; failures += 1) await expect(link.connect()).rejects.toThrow('nobody there');
    const call = link.connect();
    return { link, call, attempts: () => attempts, signal: signals[0]! };
  }

  test('makes no further attempt', async () => {
    const { link, call, attempts } = await waiting();
    const [refused] = await Promise.allSettled([call, link.close(new Error('enough'))]);
    expect(refused).toMatchObject({ reason: { message: 'enough' } });
    expect(attempts()).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('leaves nothing at the signal of attempts that are over', async () => {
    const { call, signal } = await waiting();
    await Promise.allSettled([call, vi.advanceTimersByTimeAsync(100)]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a link that makes no second connection', () => {
  async function single() {
    const opened: Upstream[] = [];
    const closed = vi.fn<() => void>();
    const link = new Link({
      open: () => {
        opened.push({ ...upstream(), close: () => Promise.resolve(closed()) });
        return Promise.resolve(opened.at(-1)!);
      },
      reopens: false,
      onopen: () => {},
      onerror: () => {},
    });
    return { link, opened, closed, first: await link.connect() };
  }

  test('fails each call once its connection is lost', async () => {
    const { link, opened, first } = await single();
    first.onclose?.();
    await expect(link.service(new TestExchange('tools/call'))).rejects.toThrow(
      'The connection is closed and cannot be made again',
    );
    expect(opened).toHaveLength(1);
  });

  test('tells whoever waits for the next that there will be none', async () => {
    const { link, first } = await single();
    const refused = vi.fn<(error: Error) => void>();
    first.onclose?.();
    void link.awaitCall(new AbortController().signal).catch(refused);
    await vi.advanceTimersByTimeAsync(0);
    expect(refused.mock.calls).toEqual([[expect.objectContaining({ name: 'ConnectionError' })]]);
  });

  test('keeps its connection while nothing goes on over it', async () => {
    const { link, first, closed } = await single();
    await link.rest();
    expect(closed).not.toHaveBeenCalled();
    expect(link.current).toBe(first);
  });
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
    expect(closed).toEqual([first]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is waited for when the link is closed', async () => {
    const { link, first } = await retiring();
    const gone = deferred();
    first.close = () => gone.promise;
    void link.service(exchange());
    link.retire(first);
    const closed = vi.fn<() => void>();
    const closing = link.close(new Error('closed')).then(closed);
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).not.toHaveBeenCalled();
    gone.resolve();
    await closing;
  });

  test('is no loss where the link is closed', async () => {
    const { link, closed, first, onlost } = await retiring();
    const closing = link.close(new Error('closed'));
    link.retire(first);
    await closing;
    expect(onlost).not.toHaveBeenCalled();
    expect(closed).toEqual([first]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is no failure: the next is made at once, however often', async () => {
    const { link, opened } = await retiring();
    for (let change = 0; change < 20; change += 1) link.retire(await link.connect());
    expect(opened).toHaveLength(20);
  });
});
