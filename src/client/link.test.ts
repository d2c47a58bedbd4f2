import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Upstream } from '../wire/upstream.ts';
import { NoConnection } from './errors.ts';
import { Link } from './link.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection to a server that cannot be reached until the test allows it. */
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

  /** The outcome of a call. Everything that it waits for is awaited, up to the given number of milliseconds. */
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

test('after five failures in a row, calls fail at once with the last error until the next attempt', async () => {
  const died = Object.assign(new Error('node exited with code 1: no key'), { stderr: 'reading a.json\nno key' });
  const broken = new Broken(new NoConnection(`Cannot connect: ${died.message}`, { cause: died }));
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    expect((await broken.call(attempt < 6 ? 1000 : 0))?.message).toBe(
      'Cannot connect: node exited with code 1: no key',
    );
    expect(broken.attempts).toBe(attempt);
  }
  // 1.6 seconds after the sixth failure.
  const refused = await broken.call(0);
  expect(refused).toBeInstanceOf(NoConnection);
  expect(refused?.message).toMatch(
    /^The server failed 6 times in a row; the next attempt is in \d+ ms: Cannot connect: node exited with code 1: no key\nreading a\.json\nno key$/,
  );
  expect(broken.attempts).toBe(6);
  await vi.advanceTimersByTimeAsync(2000);
  broken.mended = true;
  expect(await broken.call()).toBeUndefined();
  expect(broken.attempts).toBe(7);
});

test('a clock that is set back delays no attempt', async () => {
  const broken = new Broken(new NoConnection('nobody there'));
  for (let attempt = 1; attempt <= 2; attempt += 1) await broken.call();
  vi.setSystemTime(Date.now() - 3_600_000);
  const failed = broken.link.service(new TestExchange('tools/call')).catch(() => {});
  await vi.advanceTimersByTimeAsync(1000);
  expect(broken.attempts).toBe(3);
  await failed;
});

test('calls wait for a server that answers between its failures', async () => {
  let last: Upstream | undefined;
  const link = new Link({
    open: () => Promise.resolve((last = upstream())),
    reopens: true,
    onopen: () => {},
    onerror: () => {},
  });
  for (let death = 0; death < 10; death += 1) {
    const answer = link.service(new TestExchange('tools/call'));
    // Not longer than the longest pause: a connection that was open for five seconds did not fail if it is lost.
    await vi.advanceTimersByTimeAsync(2000);
    expect(await answer).toEqual({});
    last?.onclose?.();
  }
});

test('a connection that was open for five seconds resets the count of failures', async () => {
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
  // The first two attempts are made at once, as with a server that never failed.
  for (let attempt = 4; attempt <= 5; attempt += 1) {
    const failed = link.connect().catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(0);
    expect(attempts).toBe(attempt);
    expect(await failed).toBe('nobody there');
  }
});

test('a call fails if its connection is lost while it opens, and the next call opens another', async () => {
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
    message: 'The connection was lost immediately after it was made',
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

  test('leaves no listener on the signals of earlier attempts', async () => {
    const { call, signal } = await waiting();
    await Promise.allSettled([call, vi.advanceTimersByTimeAsync(100)]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a link that does not reconnect', () => {
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

  test('fails waiting calls, because there will be no other connection', async () => {
    const { link, first } = await single();
    const refused = vi.fn<(error: Error) => void>();
    first.onclose?.();
    void link.awaitCall(new AbortController().signal).catch(refused);
    await vi.advanceTimersByTimeAsync(0);
    expect(refused.mock.calls).toEqual([[expect.objectContaining({ name: 'ConnectionError' })]]);
  });

  test('keeps its idle connection open', async () => {
    const { link, first, closed } = await single();
    await link.rest();
    expect(closed).not.toHaveBeenCalled();
    expect(link.current).toBe(first);
  });
});

test('pauses last at most two seconds', async () => {
  const broken = new Broken(new NoConnection('Cannot connect: nobody there'));
  for (let attempt = 1; attempt <= 30; attempt += 1) {
    await broken.call();
    expect(broken.attempts).toBe(attempt);
    await vi.advanceTimersByTimeAsync(2000);
  }
});

test('a call waits for an attempt due within a second, whatever the number of failures', async () => {
  const broken = new Broken(new NoConnection('Cannot connect: nobody there'));
  for (let attempt = 1; attempt <= 30; attempt += 1) {
    await broken.call();
    await vi.advanceTimersByTimeAsync(2000);
  }
  expect((await broken.call())?.message).toBe('Cannot connect: nobody there');
  // The last failure was one second ago.
  broken.mended = true;
  const { attempts } = broken;
  const answer = broken.link.service(new TestExchange('tools/call'));
  await vi.advanceTimersByTimeAsync(900);
  expect(broken.attempts).toBe(attempts);
  await vi.advanceTimersByTimeAsync(100);
  expect(await answer).toEqual({});
});

describe('a server that may speak another revision', () => {
  const named = new RpcError(-32022, 'no', { data: { supported: ['2026-07-28'] } });

  /** A link whose calls a test answers, to servers that speak the given revisions, one after the other. */
  async function revisionInDoubt({ reopens = true, revisions = ['2025-11-25', '2026-07-28'] } = {}) {
    const answers: ((error?: Error) => void)[] = [];
    const opened: Upstream[] = [];
    const closed: Upstream[] = [];
    const [onlost, onopen] = [vi.fn<(reason: Error | undefined) => void>(), vi.fn<() => void>()];
    let unreachable = false;
    const link = new Link({
      open: () => {
        if (unreachable) return Promise.reject(new Error('unreachable'));
        const one: Upstream = {
          ...upstream(),
          revision: revisions[Math.min(opened.length, revisions.length - 1)] as '2025-11-25',
          service: () =>
            new Promise((resolve, reject) => {
              answers.push((error) => (error ? reject(error) : resolve({})));
            }),
          close: () => {
            if (one.closed) return Promise.resolve();
            closed.push(one);
            Object.assign(one, { closed: true });
            one.onclose?.();
            return Promise.resolve();
          },
        };
        opened.push(one);
        return Promise.resolve(one);
      },
      reopens,
      onopen,
      onlost,
      onerror: () => {},
    });
    await link.connect();
    const call = (): Promise<unknown> => link.service(new TestExchange('tools/call'));
    /** Makes a call that the server refuses. */
    const refused = async (): Promise<unknown> => {
      const failed = call().catch((error: unknown) => error);
      answers.at(-1)!(named);
      return failed;
    };
    return {
      link,
      answers,
      opened,
      closed,
      onlost,
      onopen,
      call,
      refused,
      unreachable: (so: boolean) => (unreachable = so),
    };
  }

  test('is connected to again by the next call, and if that works, the former connection is closed', async () => {
    const { link, answers, opened, closed, onlost, onopen, call, refused } = await revisionInDoubt();
    expect(await refused()).toMatchObject({ name: 'ConnectionError', notExecuted: true, cause: named });
    expect([opened.length, closed.length, onlost.mock.calls.length]).toEqual([1, 0, 0]);
    const next = call();
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).toEqual([opened[0]]);
    expect(onlost).toHaveBeenCalledExactlyOnceWith(new Error('it now speaks 2026-07-28'));
    expect(onopen).toHaveBeenCalledTimes(2);
    answers.at(-1)!();
    expect(await next).toEqual({});
    expect([link.current, link.upstream]).toEqual([opened[1], opened[1]]);
  });

  test('stays connected, with all requests in flight, if no other revision is found', async () => {
    const { link, answers, opened, closed, onlost, onopen, call, refused } = await revisionInDoubt({
      revisions: ['2025-11-25'],
    });
    const slow = call();
    await refused();
    const next = call();
    await vi.advanceTimersByTimeAsync(0);
    expect(closed).toEqual([opened[1]]);
    answers.forEach((answer) => answer());
    expect(await Promise.all([slow, next])).toEqual([{}, {}]);
    expect([link.current, link.upstream]).toEqual([opened[0], opened[0]]);
    expect([onlost.mock.calls.length, onopen.mock.calls.length]).toEqual([0, 1]);
    // It can be lost like any other connection.
    await opened[0]!.close();
    await link.connect();
    expect(link.current).toBe(opened[2]);
    expect(onlost).toHaveBeenCalledOnce();
  });

  test('lets waiting calls continue if no other revision is found', async () => {
    const { link, refused } = await revisionInDoubt({ revisions: ['2025-11-25'] });
    await refused();
    const waited = link.awaitCall(new AbortController().signal);
    await link.connect();
    expect(await waited).toBe(true);
  });

  test('is not reported as lost if the link is closed', async () => {
    const { link, closed, onlost } = await revisionInDoubt();
    await link.close(new Error('closed'));
    expect([closed.length, onlost.mock.calls.length]).toEqual([1, 0]);
  });

  test('is connected to in any revision if the former connection has ended', async () => {
    const { link, opened, onlost, refused } = await revisionInDoubt({ revisions: ['2025-11-25'] });
    await refused();
    Object.assign(opened[0]!, { closed: true, closeReason: new Error('gone') });
    await link.connect();
    expect(link.current).toBe(opened[1]);
    expect(onlost).toHaveBeenCalledExactlyOnceWith(new Error('gone'));
  });

  test('keeps the former connection until another is open', async () => {
    const { link, answers, opened, closed, call, refused, unreachable } = await revisionInDoubt();
    const slow = call();
    await refused();
    unreachable(true);
    await expect(call()).rejects.toThrow('unreachable');
    answers[0]!();
    expect(await slow).toEqual({});
    expect(closed).toEqual([]);
    await link.close(new Error('closed'));
    expect(closed).toEqual([opened[0]]);
  });

  test('fails a call with its own error if no other connection opens', async () => {
    const { link, opened, refused } = await revisionInDoubt({ reopens: false });
    expect(await refused()).toBe(named);
    expect(link.current).toBe(opened[0]);
  });

  test('fails all calls refused at the same time, and is connected to once', async () => {
    const { link, answers, opened, call } = await revisionInDoubt();
    const calls = [call(), call()].map((each) => each.catch(({ message }: Error) => message));
    answers[0]!(named);
    await calls[0];
    await link.connect();
    answers[1]!(named);
    expect(await Promise.all(calls)).toEqual(Array(2).fill(expect.stringContaining('another revision')));
    await link.connect();
    expect(opened).toHaveLength(2);
  });
});

test('a cancelled call does not wait for the connection, which is made for the next one', async () => {
  const open = vi.fn<() => Promise<Upstream>>(() => new Promise(() => {}));
  const link = new Link({ open, reopens: true, onopen: () => {}, onerror: () => {} });
  for (let count = 0; count < 2; count += 1) {
    const exchange = new TestExchange('tools/call');
    const answer = link.service(exchange);
    exchange.abort();
    await expect(answer).rejects.toThrow('aborted');
  }
  expect(open).toHaveBeenCalledOnce();
});
