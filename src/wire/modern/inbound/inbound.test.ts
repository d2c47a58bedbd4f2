import { afterEach, describe, expect, test, vi } from 'vitest';
import { ModernClient, ModernHttp, type Answered, type TestReply } from '../../../../test/support/modern.ts';
import { aborted, deferred, listening, scripted, settled, unhandled } from '../../../../test/support/service.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';

const CALL = { name: 'tool', arguments: { a: 1 } };
const tool = (handler: (exchange: Exchange) => Promise<JsonObject>): Service =>
  scripted({ 'tools/call': handler }).service;
const retry = (answered: Answered, inputResponses?: JsonObject, params: JsonObject = CALL): JsonObject => ({
  ...params,
  requestState: answered.response.result.requestState,
  inputResponses,
});

/** A value with so many levels that JSON can parse it, but not write it. */
function deep(levels = 200_000): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels));
}

afterEach(() => void vi.useRealTimers());

test('a result that JSON cannot represent is an error for its caller over HTTP, and is reported', async () => {
  const http = new ModernHttp(scripted({ odd: () => ({ big: 1n }) }).service);
  expect(await http.json('odd')).toMatchObject({ status: 200, body: { error: { code: -32603 } } });
  expect(http.errors.map(({ message }) => message)).toEqual([expect.stringContaining('BigInt')]);
});

describe('a value with too many levels for JSON', () => {
  const asking = tool((exchange) => exchange.ask('roots/list', {}));

  test('in the parameters of a question is an error of that call', async () => {
    const failures = unhandled();
    const client = new ModernClient(asking);
    const error = await client.error('tools/call', { ...CALL, arguments: { a: deep() } });
    expect(error).toMatchObject({ code: expect.any(Number) });
    expect(client.inbound.suspended).toBe(0);
    expect(await failures()).toEqual([]);
  });

  test('in a retry is an error of the retry', async () => {
    const client = new ModernClient(asking);
    const first = await client.request('tools/call', CALL);
    const params = retry(first, { 'roots-1': { roots: [] } }, { ...CALL, arguments: { a: deep() } });
    expect(await client.error('tools/call', params)).toMatchObject({ code: expect.any(Number) });
    expect(client.inbound.suspended).toBe(1);
  });

  test('in an answer that would be sealed is not sealed', async () => {
    const twice = tool(async (exchange) => {
      await exchange.ask('roots/list', {});
      await exchange.ask('roots/list', {});
      return { done: true };
    });
    const client = new ModernClient(twice, { safeToRerun: () => true });
    const first = await client.request('tools/call', CALL);
    const second = await client.request('tools/call', retry(first, { 'roots-1': { roots: [deep()] } }));
    const result = await client.result('tools/call', retry(second, { 'roots-2': { roots: [] } }));
    expect(result).toMatchObject({ done: true });
  });

  test('in a request’s information about its sender is refused', async () => {
    const http = new ModernHttp(scripted().service, {}, { maxRequests: 1 });
    const text = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":';
    for (const levels of [100, 3000, 100_000]) {
      const body = `${text}${'['.repeat(levels)}${']'.repeat(levels)}}}`;
      const response = await http.post(body, {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
      });
      expect(await response.json()).toMatchObject({ id: 1, error: { code: expect.any(Number) } });
    }
    expect((await http.call('echo')).status).toBe(200);
  });
});

describe('close()', () => {
  test('ends thousands of subscriptions in turns, so that others are served in between', async () => {
    const service = scripted({ 'subscriptions/listen': listening([]) }).service;
    const client = new ModernClient(service, { maxSubscriptionsPerPrincipal: 3000 });
    const all = Array.from({ length: 3000 }, () => client.send('subscriptions/listen', { notifications: {} }));
    const ended = (): number => all.filter(({ response }) => response !== undefined).length;
    const closing = client.inbound.close(5000);
    await new Promise((resolve) => void setImmediate(resolve));
    expect(ended()).toBeLessThan(3000);
    await closing;
    expect(ended()).toBe(3000);
  });

  test('lets requests in progress finish', async () => {
    const go = deferred();
    const client = new ModernClient(tool(() => go.promise.then(() => ({ done: true }))));
    const answered = client.request('tools/call', CALL);
    const closing = client.inbound.close(5000);
    go.resolve();
    expect((await answered).response.result).toMatchObject({ done: true });
    await closing;
  });

  test('lets a request finish after its caller has returned with answers', async () => {
    const go = deferred();
    const client = new ModernClient(
      tool(async (exchange) => {
        await exchange.ask('roots/list', {});
        await go.promise;
        return { done: true };
      }),
    );
    const first = await client.request('tools/call', CALL);
    const answered = client.request('tools/call', retry(first, { 'roots-1': { roots: [] } }));
    const closed = vi.fn<() => void>();
    const closing = client.inbound.close(5000).then(closed);
    await settled();
    expect(closed).not.toHaveBeenCalled();
    go.resolve();
    expect((await answered).response.result).toMatchObject({ done: true });
    await closing;
  });

  test('refuses later requests', async () => {
    const scripts = scripted();
    const client = new ModernClient(scripts.service);
    await client.inbound.close(0);
    expect(await client.error('echo')).toMatchObject({ message: 'The server is shutting down' });
    expect(scripts.seen).toEqual([]);
  });

  test('answers the remaining requests after its timeout, and aborts the handlers', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const seen: Exchange[] = [];
    const client = new ModernClient(
      tool((exchange) => {
        seen.push(exchange);
        void exchange.signal;
        return new Promise(() => {});
      }),
    );
    const answered = client.request('tools/call', CALL);
    let closed = false;
    const closing = client.inbound.close(5000).then(() => (closed = true));
    await vi.advanceTimersByTimeAsync(4900);
    expect([closed, seen[0]!.signal.aborted]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(100);
    await closing;
    expect((await answered).response.error).toMatchObject({ message: expect.stringContaining('shutting down') });
    expect(seen[0]!.signal.aborted).toBe(true);
    expect(seen[0]!.signal.reason).toMatchObject({ message: expect.stringContaining('shutting down') });
  });

  test('ends subscriptions with their response, and notifies the service', async () => {
    const subscribers: Exchange[] = [];
    const client = new ModernClient(scripted({ 'subscriptions/listen': listening(subscribers) }).service);
    const reply = client.send('subscriptions/listen', { notifications: {} });
    await settled();
    expect(subscribers).toHaveLength(1);
    await client.inbound.close(0);
    expect(reply.response).toMatchObject({
      result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    });
    await settled();
    expect(subscribers).toEqual([]);
  });

  test('ends suspended requests, and those that would be suspended later', async () => {
    const go = deferred();
    const reasons: string[] = [];
    const client = new ModernClient(
      tool(async (exchange) => {
        if (exchange.params['arguments'].late) await go.promise;
        return exchange.ask('roots/list', {}).catch((error: Error) => {
          reasons.push(error.message);
          throw error;
        });
      }),
    );
    await client.request('tools/call', CALL);
    const late = client.request('tools/call', { ...CALL, arguments: { late: true } });
    const closing = client.inbound.close(5000);
    await settled();
    expect(reasons).toEqual([expect.stringContaining('shutting down')]);
    go.resolve();
    expect((await late).response.error).toMatchObject({ message: expect.stringContaining('shutting down') });
    await closing;
    expect(client.inbound.suspended).toBe(0);
    expect(reasons).toHaveLength(2);
  });

  test('can be called again while it waits', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const go = deferred();
    const client = new ModernClient(tool(() => go.promise.then(() => ({}))));
    const answered = client.request('tools/call', CALL);
    const closing = Promise.all([client.inbound.close(5000), client.inbound.close(5000)]);
    go.resolve();
    await answered;
    await closing;
  });
});

test('initialize that names the revision 2026-07-28 is an unknown method', async () => {
  const client = new ModernClient(scripted().service);
  expect(await client.error('initialize', { protocolVersion: '2025-11-25' })).toMatchObject({
    code: -32601,
    message: 'Method not found: initialize is not part of revision 2026-07-28',
  });
});

describe('a request that continues in another process', () => {
  const options = { stateKey: 'a secret of both of them', safeToRerun: () => true };
  const asking = tool(async (exchange) => ({ roots: (await exchange.ask('roots/list', {}))['roots'] }));

  test('with an invalid answer is refused, and can be repeated', async () => {
    const first = await new ModernClient(asking, options).request('tools/call', CALL);
    const other = new ModernClient(asking, options);
    for (const wrong of [{}, { roots: 5 }]) {
      const refused = await other.request('tools/call', retry(first, { 'roots-1': wrong }));
      expect(refused).toMatchObject({ status: 400, response: { error: { code: -32602 } } });
    }
    const good = await other.result('tools/call', retry(first, { 'roots-1': { roots: [] } }));
    expect(good).toMatchObject({ roots: [] });
  });
});

test('log messages that cannot be sent in the next round cause no error', async () => {
  const failures = unhandled();
  const client = new ModernClient(
    tool(async (exchange) => {
      const answer = exchange.ask('roots/list', {});
      await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
      await exchange.notify('notifications/message', { level: 'info', data: 1n }).catch(() => {});
      return { roots: (await answer)['roots'] };
    }),
  );
  const logged = { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };
  const first = await client.request('tools/call', { ...CALL, ...logged });
  await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  const result = await client.result('tools/call', { ...retry(first, { 'roots-1': { roots: [] } }), ...logged });
  expect(result).toMatchObject({ roots: [] });
  expect(await failures()).toEqual([]);
});

test.each([Infinity, 2 ** 32, 0])(
  'with an askTimeout of %d, a request waits as long as a timer can',
  async (askTimeout) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    const asking = tool(async (exchange) => ({ roots: (await exchange.ask('roots/list', {}))['roots'] }));
    const client = new ModernClient(asking, { askTimeout });
    const first = await client.request('tools/call', CALL);
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    const result = await client.result('tools/call', retry(first, { 'roots-1': { roots: [] } }));
    expect(result).toMatchObject({ roots: [] });
  },
);

test('subscriptions are limited, in total and for each principal, and one that ends makes room', async () => {
  const { service } = scripted({ 'subscriptions/listen': ({ signal }) => aborted(signal).then(() => ({})) });
  const client = new ModernClient(service, { maxSubscriptions: 3, maxSubscriptionsPerPrincipal: 1 });
  const listen = (principal?: string): TestReply =>
    client.send('subscriptions/listen', { notifications: {} }, { principal });
  const own = listen('ada');
  const refused = { error: { message: expect.stringContaining('Too many subscriptions') } };
  expect(listen('ada').response).toMatchObject(refused);
  listen('eve');
  listen();
  expect(listen().response).toMatchObject(refused);
  own.onclose!();
  expect(listen('ada').response).toBeUndefined();
});

describe('one client without a principal leaves room for others', () => {
  const { service } = scripted({ 'subscriptions/listen': ({ signal }) => aborted(signal).then(() => ({})) });
  const subscribe = (client: ModernClient, address: string, names: string[] = []): TestReply =>
    client.send('subscriptions/listen', { notifications: { resourceSubscriptions: names } }, { address });

  test('in the number of subscriptions', () => {
    const client = new ModernClient(service, { maxSubscriptions: 16 });
    const own = Array.from({ length: 20 }, (_, n) => subscribe(client, `2001:db8::${n}`));
    expect(own.filter(({ response }) => response === undefined)).toHaveLength(14);
    expect(subscribe(client, '192.0.2.2').response).toBeUndefined();
    for (const { onclose } of own) onclose?.();
    expect(subscribe(client, '2001:db8::1').response).toBeUndefined();
  });

  test('in the names that its filters have', () => {
    const client = new ModernClient(service);
    let count = 0;
    const names = (length: number): string[] => Array.from({ length }, () => `${(count += 1)}`.padStart(100, 'a://'));
    const replies: TestReply[] = [];
    do replies.push(subscribe(client, '192.0.2.1', names(1000)));
    while (replies.at(-1)!.response === undefined && count < 500_000);
    expect(replies.pop()!.response).toMatchObject({
      error: { code: -32603, message: expect.stringContaining('name too many resources') },
    });
    expect(subscribe(client, '192.0.2.2', names(1000)).response).toBeUndefined();
    replies.pop()!.onclose!();
    expect(subscribe(client, '192.0.2.1', names(1000)).response).toBeUndefined();
    expect(client.errors).toEqual([]);
  });
});

describe('the filter of a subscription is refused before it reaches a service', () => {
  const names = (count: number, length = 1): string[] =>
    Array.from({ length: count }, (_, n) => `${n}`.padEnd(length, 'x'));

  test.each<[string, JsonObject]>([
    ['if it is missing', {}],
    ['if it has too many resources', { notifications: { resourceSubscriptions: names(1001) } }],
    ['if it has too many tasks', { notifications: { taskIds: names(1001) } }],
    ['if a name in it is too long', { notifications: { resourceSubscriptions: names(1, 8193) } }],
    ['if its names together are too long', { notifications: { taskIds: names(100, 8000) } }],
    ['if it has values that are not strings', { notifications: { resourceSubscriptions: [['a']] } }],
    ['if the caller sends an answer with it', { requestState: 'a', notifications: { taskIds: names(1001) } }],
  ])('%s', async (_, params) => {
    const scripts = scripted({ 'subscriptions/listen': () => ({}) });
    const client = new ModernClient(scripts.service, { sealState: false });
    expect(await client.error('subscriptions/listen', params)).toMatchObject({ code: -32602 });
    expect(scripts.seen).toEqual([]);
  });

  test('unless it is within the limits, and then unknown fields are passed on', async () => {
    const subscribers: Exchange[] = [];
    const client = new ModernClient(scripted({ 'subscriptions/listen': listening(subscribers) }).service);
    const notifications = { resourceSubscriptions: names(1000), taskIds: names(1000), 'vendor/odd': true };
    client.send('subscriptions/listen', { notifications });
    await settled();
    expect(subscribers[0]!.params).toMatchObject({ notifications });
    await client.inbound.close(0);
  });
});
