import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { Exchange } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { HttpStatusError } from '../transport/http/client/errors.ts';
import type { Upstream } from '../wire/upstream.ts';
import { keepListening } from './keep-listening.ts';
import { Link } from './link.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const notifications = { toolsListChanged: true, resourceSubscriptions: ['a:'] };
const ALL_CHANGED = [
  { method: 'notifications/tools/list_changed', params: {} },
  { method: 'notifications/resources/updated', params: { uri: 'a:' } },
];

/** One subscription that a test controls. */
interface Stream {
  readonly exchange: Exchange;
  readonly at: number;
  readonly end: (error?: Error) => void;
}

/** A subscriber. The test ends connections and subscriptions. */
function listener({ remote = true } = {}) {
  const streams: Stream[] = [];
  const upstreams: Upstream[] = [];
  const errors: string[] = [];
  let unreachable: Error | undefined;
  const link = new Link({
    open: () => {
      if (unreachable) return Promise.reject(unreachable);
      const upstream = {
        service: (exchange: Exchange) =>
          new Promise((resolve, reject) => {
            const end = (error?: Error): void => {
              exchange.signal.removeEventListener('abort', stop);
              if (error) reject(error);
              else resolve({});
            };
            const stop = (): void => end();
            streams.push({ exchange, at: Date.now(), end });
            exchange.signal.addEventListener('abort', stop);
          }),
        revision: '2026-07-28',
        closed: false,
        close: () => Promise.resolve(),
      };
      upstreams.push(upstream as unknown as Upstream);
      return Promise.resolve(upstream as unknown as Upstream);
    },
    reopens: true,
    remote,
    onopen: () => {},
    onerror: () => {},
  });
  const listen = (to: TestExchange): Promise<unknown> => {
    const ended = keepListening(to, {
      link,
      service: link.service,
      onerror: ({ message }) => void errors.push(message),
    });
    ended.catch(() => {});
    return ended;
  };
  const exchange = new TestExchange('subscriptions/listen', { notifications });
  const over = listen(exchange);
  const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
  return {
    streams,
    errors,
    link,
    exchange,
    over,
    listen,
    settled,
    acknowledge: async (stream = streams.at(-1)!) => {
      await stream.exchange.notify(ACKNOWLEDGED, { notifications });
    },
    end: async (error?: Error) => {
      streams.at(-1)!.end(error);
      await settled();
    },
    /** Ends the connection too. */
    lose: async () => {
      const upstream = upstreams.at(-1) as { closed: boolean; onclose?: () => void };
      upstream.closed = true;
      upstream.onclose?.();
      streams.at(-1)!.end(new RpcError(-32000, 'Connection closed', { cause: new Error('gone') }));
      await settled();
    },
    unreachable: (error: Error | undefined) => (unreachable = error),
  };
}

/** A subscription that has been open for a while. */
async function listening(options?: Parameters<typeof listener>[0]) {
  const one = listener(options);
  await one.settled();
  await one.acknowledge();
  await vi.advanceTimersByTimeAsync(10_000);
  return one;
}

const reset = (): Error => new RpcError(-32603, 'reset', { cause: new Error('reset') });

test('many waiting subscriptions cause no warning about a leak', async () => {
  const warnings: Error[] = [];
  const onwarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onwarning);
  const { listen, settled, acknowledge, streams } = listener();
  for (let n = 0; n < 11; n += 1) void listen(new TestExchange('subscriptions/listen', { notifications }));
  await settled();
  expect(streams).toHaveLength(12);
  for (const stream of streams) await acknowledge(stream);
  for (const { end } of [...streams]) end();
  await settled();
  process.off('warning', onwarning);
  expect(warnings).toEqual([]);
});

describe('a subscription', () => {
  test.each<[string, Error | undefined, string]>([
    ['ended with a response', undefined, 'the server ended it'],
    ['whose stream is lost', reset(), 'subscriptions/listen failed: reset'],
    ['refused for now', new RpcError(-32603, 'Too many subscriptions'), 'Too many subscriptions'],
  ])('%s is opened again, is acknowledged once, and reports possible changes of everything', async (_, error, why) => {
    const { streams, exchange, errors, over, acknowledge, end } = await listening();
    await end(error);
    expect(streams).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(streams).toHaveLength(2);
    await acknowledge();
    expect(exchange.notified).toEqual([{ method: ACKNOWLEDGED, params: { notifications } }, ...ALL_CHANGED]);
    expect(errors).toEqual([`Subscriptions were lost and will be opened again: ${why}`]);
    exchange.abort();
    expect(await over).toEqual({});
    expect(vi.getTimerCount()).toBe(0);
  });

  test('that the server ends at once is opened again after growing pauses, with one error', async () => {
    const { streams, errors, acknowledge, end } = await listening();
    await end();
    for (let second = 0, ended = 1; second < 3600; second += 1) {
      await vi.advanceTimersByTimeAsync(1000);
      if (streams.length === ended) continue;
      await acknowledge();
      await end();
      ended += 1;
    }
    // One hour has 240 times 15 seconds.
    expect(streams.length).toBeGreaterThan(120);
    expect(streams.length).toBeLessThan(250);
    expect(errors).toHaveLength(1);
  });

  test('survives a day without the server, with at most one attempt every 15 seconds', async () => {
    const { streams, errors, unreachable, lose, acknowledge, exchange } = await listening();
    unreachable(new Error('refused'));
    await lose();
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(streams).toHaveLength(1);
    expect(errors).toHaveLength(1);
    unreachable(undefined);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(streams).toHaveLength(2);
    await acknowledge();
    expect(exchange.notified.slice(1)).toEqual(ALL_CHANGED);
  });

  test('is reported once for each loss, together with others that are lost', async () => {
    const { streams, errors, listen, settled, acknowledge } = await listening();
    const exchange = new TestExchange('subscriptions/listen', { notifications });
    const over = listen(exchange);
    await settled();
    await acknowledge();
    for (let count = 1; count <= 2; count += 1) {
      await vi.advanceTimersByTimeAsync(10_000);
      for (const { end } of streams.slice(-2)) end(reset());
      await vi.advanceTimersByTimeAsync(500);
      for (const stream of streams.slice(-2)) await acknowledge(stream);
      expect(errors).toHaveLength(count);
    }
    exchange.abort();
    await over;
  });

  test('that was open for a while is soon opened again, however often earlier attempts failed', async () => {
    const { streams, errors, acknowledge, end } = await listening();
    for (let count = 0; count < 6; count += 1) {
      await end(reset());
      await vi.advanceTimersByTimeAsync(30_000);
    }
    await acknowledge();
    await vi.advanceTimersByTimeAsync(5000);
    const before = streams.length;
    await end(reset());
    await vi.advanceTimersByTimeAsync(500);
    expect(streams).toHaveLength(before + 1);
    expect(errors).toHaveLength(2);
  });

  test.each<[string, Error]>([
    ['an error', new RpcError(-32601, 'Method not found')],
    ['a status', new HttpStatusError(403, 'The server answered with status 403')],
  ])('that the server refuses with %s ends', async (_, error) => {
    const { over, end } = await listening();
    await end(error);
    await expect(over).rejects.toThrow(error.message);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('that is refused by a server which may speak another revision is opened again', async () => {
    const { streams, end } = await listening();
    await end(new HttpStatusError(404, 'The server answered with status 404'));
    await vi.advanceTimersByTimeAsync(500);
    expect(streams).toHaveLength(2);
  });

  test.each<[string, Error | undefined, string]>([
    ['lost', reset(), 'reset'],
    ['ended', undefined, 'The server ended the subscription before it acknowledged it'],
  ])('that is %s before it is acknowledged fails', async (_, error, why) => {
    const { over, settled, end } = listener();
    await settled();
    await end(error);
    await expect(over).rejects.toThrow(why);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends during its pause if the exchange ends', async () => {
    const { streams, exchange, over, end } = await listening();
    await end();
    exchange.abort();
    expect(await over).toEqual({});
    expect([streams.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test('fails during its pause if the link is closed', async () => {
    const { over, link, end } = await listening();
    await end();
    await link.close(new Error('closed by its owner'));
    await expect(over).rejects.toThrow('closed by its owner');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a child process', () => {
  test('that has exited is restarted only by a call, which subscribes again', async () => {
    const { streams, errors, link, lose } = await listening({ remote: false });
    await lose();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(streams).toHaveLength(1);
    await link.connect();
    await vi.advanceTimersByTimeAsync(0);
    expect(streams).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test('that ends the subscription before it exits is not restarted', async () => {
    const { streams, link, end, lose } = await listening({ remote: false });
    await end();
    await lose();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(streams).toHaveLength(1);
    await link.connect();
    await vi.advanceTimersByTimeAsync(0);
    expect(streams).toHaveLength(2);
  });
});

test('a connection that was closed because it was idle is reopened only by a call', async () => {
  const { streams, link, end } = await listening();
  const resting = link.rest();
  await end(new RpcError(-32000, 'Connection closed', { cause: new Error('gone') }));
  await resting;
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(streams).toHaveLength(1);
  await link.connect();
  await vi.advanceTimersByTimeAsync(0);
  expect(streams).toHaveLength(2);
});
