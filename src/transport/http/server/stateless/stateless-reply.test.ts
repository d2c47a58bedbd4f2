import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Events } from '../../../../../test/support/http.ts';
import { ModernHttp, modernHeaders, modernRequest } from '../../../../../test/support/modern.ts';
import { aborted, deferred, scripted, settled } from '../../../../../test/support/service.ts';
import { RpcError } from '../../../../jsonrpc/errors.ts';
import { Unavailable } from '../../../../core/unavailable.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import type { JsonObject } from '../../../../jsonrpc/message.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const KB = 'x'.repeat(1024);

/** A service with one method, `work`. */
const working = (work: (exchange: Exchange) => JsonObject | Promise<JsonObject>) => scripted({ work }).service;

/** Sends one notification of the given number of kilobytes. */
const sendProgress = (exchange: Exchange, n: number, kilobytes = 1): Promise<void> =>
  exchange.notify('notifications/odd', { n, filler: KB.repeat(kilobytes) });

describe('the response', () => {
  test('is plain JSON if it comes within 100 ms', async () => {
    const go = deferred();
    const http = new ModernHttp(working(() => go.promise.then(() => ({ done: true }))));
    const call = http.call('work');
    await vi.advanceTimersByTimeAsync(90);
    go.resolve();
    const response = await call;
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ result: { done: true } });
  });

  test('has status 503 if a part of the server cannot be reached, but not if a remote server says so', async () => {
    const http = new ModernHttp(
      working(({ params }) => {
        if (params['own'] === true) throw new Unavailable('not here', { cause: undefined });
        throw new RpcError(-32000, 'not here', { data: { notExecuted: true }, origin: 'peer' });
      }),
    );
    const own = await http.call('work', { own: true });
    expect([own.status, own.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await own.json()).toMatchObject({ error: { code: -32000, data: { notExecuted: true } } });
    const ofPeer = await http.call('work', { own: false });
    expect([ofPeer.status, ofPeer.headers.get('retry-after')]).toEqual([200, null]);
  });

  test('is a stream if it comes later, without an earlier event', async () => {
    const go = deferred();
    const http = new ModernHttp(working(() => go.promise.then(() => ({ done: true }))));
    const call = http.call('work');
    await vi.advanceTimersByTimeAsync(110);
    const response = await call;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    go.resolve();
    const events = await new Events(response).rest();
    expect(events).toEqual([{ event: 'message', data: expect.stringContaining('"done":true') }]);
  });

  test('is a stream at once if a notification comes first, and ends with the response', async () => {
    const http = new ModernHttp(
      working(async (exchange) => {
        await sendProgress(exchange, 1);
        await sendProgress(exchange, 2);
        return { done: true };
      }),
    );
    const events = await new Events(await http.call('work')).rest();
    expect(events.map(({ id, data }) => [id, JSON.parse(data!).method ?? 'response'])).toEqual([
      [undefined, 'notifications/odd'],
      [undefined, 'notifications/odd'],
      [undefined, 'response'],
    ]);
  });

  test.each([
    ['plain', async () => ({ big: 1n })],
    [
      'a stream',
      async (exchange: Exchange) => {
        await sendProgress(exchange, 1);
        return { big: 1n };
      },
    ],
  ])('becomes an error if JSON cannot represent the result, as %s', async (_, work) => {
    const http = new ModernHttp(working(work));
    const text = await (await http.call('work')).text();
    expect(text).toContain('"code":-32603');
    expect(text).toContain('BigInt');
    expect(text).not.toContain('"result"');
  });

  test('is the last message', async () => {
    let exchange!: Exchange;
    const http = new ModernHttp(
      working(async (given) => {
        exchange = given;
        await sendProgress(exchange, 1);
        return {};
      }),
    );
    const events = new Events(await http.call('work'));
    const messages = [await events.message(), await events.message()];
    await sendProgress(exchange, 2);
    expect(await events.next()).toBeUndefined();
    expect(messages.map(({ method }) => method)).toEqual(['notifications/odd', undefined]);
    expect(http.errors).toEqual([]);
  });

  test('is on the stream if it is an error and a stream has begun, without a separate status', async () => {
    const http = new ModernHttp(
      working(async (exchange) => {
        await sendProgress(exchange, 1);
        return exchange.ask('roots/list', {});
      }),
    );
    const response = await http.call('work');
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"code":-32603');
  });
});

describe('a client that disconnects', () => {
  test.each([0, 1])('cancels the request, after %i notifications', async (count) => {
    let exchange!: Exchange;
    const http = new ModernHttp(
      working(async (given) => {
        exchange = given;
        for (let n = 0; n < count; n += 1) await sendProgress(exchange, n);
        await aborted(exchange.signal);
        return {};
      }),
    );
    const call = http.call('work');
    await vi.advanceTimersByTimeAsync(110);
    const events = new Events(await call);
    for (let n = 0; n < count; n += 1) await events.message();
    expect(exchange.signal.aborted).toBe(false);
    await events.cancel();
    expect(exchange.signal.aborted).toBe(true);
    await sendProgress(exchange, 9);
    expect(http.errors).toEqual([]);
  });

  test('with a hundred connections at once cancels a few requests in each turn of the event loop', async () => {
    const seen: Exchange[] = [];
    const http = new ModernHttp(
      working((exchange) => {
        seen.push(exchange);
        return new Promise(() => {});
      }),
    );
    const calls = Array.from({ length: 100 }, () => http.call('work'));
    await vi.waitFor(() => expect(seen).toHaveLength(100), 30_000);
    await vi.advanceTimersByTimeAsync(110);
    const readers = (await Promise.all(calls)).map((response) => new Events(response));
    const ended = (): number => seen.filter(({ signal }) => signal.aborted).length;
    for (const reader of readers) void reader.cancel();
    await settled();
    expect(ended()).toBeLessThan(50);
    await vi.waitFor(() => expect(ended()).toBe(100), 30_000);
    expect(http.errors).toEqual([]);
  });

  test('before the stream cancels the request when the stream would begin', async () => {
    const seen: Exchange[] = [];
    const http = new ModernHttp(
      working((exchange) => {
        seen.push(exchange);
        return new Promise(() => {});
      }),
    );
    const controller = new AbortController();
    const message = modernRequest(1, 'work');
    const request = { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) };
    void http.fetch(new Request('http://localhost/mcp', { ...request, signal: controller.signal }));
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    controller.abort();
    await vi.advanceTimersByTimeAsync(110);
    expect(seen[0]!.signal.aborted).toBe(true);
  });
});

describe('a client that reads slowly', () => {
  test('slows down a handler that awaits its notifications, and gets all of them', async () => {
    let sent = 0;
    const http = new ModernHttp(
      working(async (exchange) => {
        for (; sent < 20; sent += 1) await sendProgress(exchange, sent, 50);
        return {};
      }),
    );
    const events = new Events(await http.call('work'));
    await settled();
    expect(sent).toBeLessThan(5);
    for (let n = 0; n < 20; n += 1) expect((await events.message()).params.n).toBe(n);
    expect((await events.message()).result).toBeDefined();
    expect(http.errors).toEqual([]);
  });

  test('loses notifications of a handler that does not await them, with one report, and gets the response', async () => {
    const http = new ModernHttp(
      working(async (exchange) => {
        for (let n = 0; n < 100; n += 1) void sendProgress(exchange, n, 50);
        return { done: true };
      }),
    );
    const messages = (await new Events(await http.call('work')).rest()).map(({ data }) => JSON.parse(data!));
    expect(messages.at(-1)).toMatchObject({ result: { done: true } });
    const numbers = messages.slice(0, -1).map(({ params }) => params.n);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect(numbers.length).toBeGreaterThan(15);
    expect(numbers.length).toBeLessThan(30);
    expect(http.errors.map(({ message }) => message)).toEqual([expect.stringContaining('reads too slowly')]);
  });

  test('is disconnected if it reads nothing, which cancels the request', async () => {
    let exchange!: Exchange;
    const http = new ModernHttp(
      working(async (given) => {
        exchange = given;
        await sendProgress(exchange, 1, 100);
        await aborted(exchange.signal);
        return {};
      }),
      {},
      { stallTimeout: 5000, keepAlive: 0 },
    );
    const events = new Events(await http.call('work'));
    await vi.advanceTimersByTimeAsync(4900);
    expect(exchange.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(exchange.signal.aborted).toBe(true);
    await expect(events.rest()).rejects.toThrow('interrupted');
  });
});

test('an idle stream is kept alive with comments', async () => {
  const http = new ModernHttp(
    working(async (exchange) => {
      await sendProgress(exchange, 1);
      await aborted(exchange.signal);
      return {};
    }),
    {},
    { keepAlive: 1000 },
  );
  const events = new Events(await http.call('work'));
  await events.message();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await events.next()).toEqual({ comment: 'keep-alive' });
});
