import { afterEach, describe, expect, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { meta, modernRequest } from '../../test/support/modern.ts';
import { aborted, deferred, listening, scripted, settled } from '../../test/support/service.ts';
import { hello, Peer, served } from '../../test/support/wire.ts';
import type { Exchange } from '../core/exchange.ts';
import type { JsonObject, Message } from '../jsonrpc/message.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { createInbound, type InboundOptions } from './serve.ts';

afterEach(() => void vi.useRealTimers());

/** Also runs the callbacks of setImmediate. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));

/** A connection whose inbound side the test can close. */
async function connected(methods: Parameters<typeof scripted>[0], options: InboundOptions = {}) {
  const errors: Error[] = [];
  const inbound = createInbound(scripted(methods).service, { onerror: (error) => void errors.push(error), ...options });
  const [near, far] = memoryTransportPair();
  const client = new Peer(near);
  await near.start();
  await inbound.connect(far);
  return { client, inbound, errors };
}

/** A transport that consists of callbacks. */
class HandTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onend: Transport['onend'];
  onerror: Transport['onerror'];
  readonly sent: Message[] = [];

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: Message): Promise<void> {
    try {
      JSON.stringify(message);
    } catch (error) {
      return Promise.reject(error);
    }
    this.sent.push(message);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }
}

test('thousands of requests of a connection are ended in turns of the event loop when the server closes', async () => {
  const { inbound, client } = await connected({ work: ({ signal }) => aborted(signal).then(() => ({})) });
  await client.request(1, 'initialize', hello());
  await client.send(...Array.from({ length: 3000 }, (_, id) => ({ id: `w${id}`, method: 'work' })));
  const ended = (): number => client.inbox.filter((message) => 'error' in message).length;
  const closing = inbound.close(0);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(ended()).toBeLessThan(3000);
  await closing;
  await vi.waitFor(() => expect(ended()).toBe(3000));
});

describe('calls that their clients end together', () => {
  /** Ten sessions of one service, each with a hundred calls, and how many of the calls have ended. */
  async function busy() {
    const errors: Error[] = [];
    const seen: Exchange[] = [];
    const go = deferred();
    const { service } = scripted({ work: (exchange) => (seen.push(exchange), go.promise.then(() => ({}))) });
    const inbound = createInbound(service, { onerror: (error) => void errors.push(error) });
    const clients: Peer[] = [];
    for (let n = 0; n < 10; n += 1) {
      const [near, far] = memoryTransportPair();
      const client = new Peer(near);
      clients.push(client);
      await near.start();
      await inbound.onsession!(far);
      await client.request('init', 'initialize', hello());
      await client.send(...Array.from({ length: 100 }, (_, id) => ({ id, method: 'work' })));
      client.take();
    }
    return { clients, errors, go, ended: () => seen.filter(({ signal }) => signal.aborted).length };
  }

  const cancel = (id: number): object => ({ method: 'notifications/cancelled', params: { requestId: id } });

  test('end a few in each turn of the event loop when all sessions close', async () => {
    const { clients, errors, ended } = await busy();
    for (const client of clients) void client.transport.close();
    await settled();
    expect(ended()).toBe(10);
    await turn();
    expect(ended()).toBeLessThan(100);
    await vi.waitFor(() => expect(ended()).toBe(1000), 30_000);
    expect(errors).toEqual([]);
  });

  test('end a few in each turn of the event loop when all are cancelled', async () => {
    const { clients, errors, go, ended } = await busy();
    const all = Array.from({ length: 100 }, (_, id) => cancel(id));
    await Promise.all(clients.map((client) => client.send(...all)));
    expect(ended()).toBeLessThan(100);
    // A call that finishes before its turn is not answered, because it is cancelled.
    go.resolve();
    await turn();
    expect(clients.flatMap((client) => client.take())).toEqual([]);
    expect(errors).toEqual([]);
    // Their ids and their room are free again.
    await vi.waitFor(
      async () => expect((await clients[9]!.request(99, 'echo')).result).toEqual({ params: {} }),
      30_000,
    );
  });
});

describe('each message goes to the inbound of its era', () => {
  test('one connection speaks both eras, in any order', async () => {
    const { service, seen } = scripted();
    const { client } = await served(service);
    const modern = (id: number): Promise<any> => client.request(id, 'echo', { _meta: meta() });
    expect((await modern(1)).result.resultType).toBe('complete');
    expect((await client.request(2, 'initialize', hello())).result.protocolVersion).toBe('2025-11-25');
    expect((await modern(3)).result.resultType).toBe('complete');
    expect((await client.request(4, 'echo')).result).toEqual({ params: {} });
    expect(seen.filter(({ method }) => method === 'echo').map(({ caller }) => caller.revision)).toEqual([
      '2026-07-28',
      '2026-07-28',
      '2025-11-25',
    ]);
  });

  test('if only handshakes are served, a request that names its revision is refused before the handshake', async () => {
    const { service, seen } = scripted();
    const { client } = await served(service, { eras: 'legacy' });
    expect((await client.request(1, 'echo', { _meta: meta() })).error).toMatchObject({ code: expect.any(Number) });
    expect(seen).toEqual([]);
  });

  test('if handshakes are not served, every request is read as 2026-07-28, and responses are reported', async () => {
    const { service, seen } = scripted();
    const { client, errors } = await served(service, { eras: 'modern' });
    expect((await client.request(1, 'initialize', hello())).error.code).toBe(-32022);
    expect((await client.request(2, 'echo')).error.code).toBe(-32602);
    await client.send({ method: 'notifications/initialized' }, { id: 7, result: {} }, { method: 'notifications/odd' });
    expect(client.take()).toEqual([]);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('no request was sent'),
      expect.stringContaining('_meta'),
    ]);
    expect(seen).toEqual([]);
  });
});

describe('an id', () => {
  test('in flight is refused for another request, with an error without an id', async () => {
    const go = deferred();
    const { service, seen } = scripted({ work: () => go.promise.then(() => ({ first: true })) });
    const { client } = await served(service);
    await client.send(modernRequest('a', 'work'), modernRequest('a', 'echo'));
    expect(client.next()).toEqual({ jsonrpc: '2.0', error: expect.objectContaining({ code: -32600 }) });
    go.resolve();
    await turn();
    expect(client.next()).toMatchObject({ id: 'a', result: { first: true } });
    expect(seen).toHaveLength(1);
  });

  test('that is a number is not the same as a string', async () => {
    const go = deferred();
    const { client } = await served(scripted({ work: () => go.promise.then(() => ({})) }).service);
    await client.send(modernRequest(1, 'work'), modernRequest('1', 'echo'));
    expect(client.next()).toMatchObject({ id: '1', result: {} });
    go.resolve();
    await turn();
    expect(client.next()).toMatchObject({ id: 1, result: {} });
  });

  test('can be used again when it was answered, cancelled, or answered with questions', async () => {
    const { client } = await served(
      scripted({
        'tools/call': (exchange) => exchange.ask('roots/list', {}),
        wait: () => new Promise(() => {}),
      }).service,
    );
    await client.request(1, 'echo', { _meta: meta() });
    await client.send(modernRequest(1, 'wait'));
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    await client.send(modernRequest(1, 'tools/call', { name: 'a' }, { roots: {} }));
    await turn();
    expect(client.next()).toMatchObject({ id: 1, result: { resultType: 'input_required' } });
    expect(await client.request(1, 'echo', { _meta: meta() })).toMatchObject({ id: 1, result: {} });
    expect(client.take()).toEqual([]);
  });
});

describe('a cancellation', () => {
  test('reaches only the request with its id, with its reason, and no response is sent', async () => {
    const seen = new Map<unknown, Exchange>();
    const { client } = await served(
      scripted({
        wait: async (exchange) => {
          seen.set(exchange.params['n'], exchange);
          await aborted(exchange.signal);
          await exchange.notify('notifications/odd');
          return {};
        },
      }).service,
    );
    await client.send(modernRequest(1, 'wait', { n: 1 }), modernRequest(2, 'wait', { n: 2 }));
    await client.send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough', _meta: meta() } });
    expect(seen.get(1)!.signal.reason).toMatchObject({ message: 'Cancelled: enough' });
    expect(seen.get(2)!.signal.aborted).toBe(false);
    expect(client.take()).toEqual([]);
  });

  test('of a handshake request does not affect one of 2026-07-28', async () => {
    let exchange!: Exchange;
    const { client } = await served(
      scripted({
        wait: (given) => {
          exchange = given;
          void given.signal;
          return new Promise(() => {});
        },
      }).service,
    );
    await client.request(1, 'initialize', hello());
    await client.send({ method: 'notifications/initialized' }, { id: 5, method: 'wait' });
    await client.send({ method: 'notifications/cancelled', params: { requestId: 5 } });
    expect(exchange.signal.aborted).toBe(true);
  });

  test.each([[undefined], [null], [{}], [99], ['1']])('of %j changes nothing', async (requestId) => {
    const go = deferred();
    const { client, errors } = await served(scripted({ work: () => go.promise.then(() => ({ done: true })) }).service);
    await client.send(modernRequest(1, 'work'));
    await client.send({ method: 'notifications/cancelled', params: { requestId, _meta: meta() } });
    go.resolve();
    await turn();
    expect(client.next()).toMatchObject({ id: 1, result: { done: true } });
    expect(errors).toEqual([]);
  });
});

describe('when the connection closes', () => {
  test('requests in flight are cancelled', async () => {
    const seen: Exchange[] = [];
    const { client } = await served(
      scripted({
        wait: (exchange) => {
          seen.push(exchange);
          void exchange.signal;
          return new Promise(() => {});
        },
      }).service,
    );
    await client.send(modernRequest(1, 'wait'), modernRequest(2, 'wait'));
    await client.transport.close();
    await settled();
    expect(seen.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  test('suspended requests end, because no other connection can bring their answers', async () => {
    const reasons: string[] = [];
    const { client } = await served(
      scripted({
        'tools/call': (exchange) =>
          exchange.ask('roots/list', {}).catch((error: Error) => {
            reasons.push(error.message);
            throw error;
          }),
      }).service,
    );
    await client.send(modernRequest(1, 'tools/call', { name: 'a' }, { roots: {} }));
    await turn();
    expect(client.next()).toMatchObject({ result: { resultType: 'input_required' } });
    await client.transport.close();
    await turn();
    expect(reasons).toHaveLength(1);
  });

  test('subscriptions end with a response at the end of input, and other requests continue', async () => {
    const go = deferred();
    const subscribers: Exchange[] = [];
    const { service } = scripted({
      'subscriptions/listen': listening(subscribers),
      work: () => go.promise.then(() => ({ done: true })),
    });
    const transport = new HandTransport();
    await createInbound(service).connect(transport);
    transport.onmessage!(modernRequest('s', 'subscriptions/listen', { notifications: {} }));
    transport.onmessage!(modernRequest(1, 'work'));
    await settled();
    transport.onend!();
    await settled();
    expect(subscribers).toEqual([]);
    go.resolve();
    await settled();
    expect(transport.sent).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged' },
      { id: 's', result: { resultType: 'complete' } },
      { id: 1, result: { done: true } },
    ]);
  });
});

describe('close', () => {
  test('does not wait for a client that has disconnected', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, inbound } = await connected({ work: () => new Promise(() => {}) });
    await client.request(1, 'initialize', hello());
    await client.send({ id: 2, method: 'work' });
    const closing = inbound.close(5000);
    await client.transport.close();
    await closing;
    expect(vi.getTimerCount()).toBe(0);
  });

  test('lets requests of either era finish before the connection closes', async () => {
    const go = deferred();
    const { client, inbound } = await connected({ work: () => go.promise.then(() => ({ done: true })) });
    await client.request(1, 'initialize', hello());
    await client.send({ method: 'notifications/initialized' });
    await client.send({ id: 2, method: 'work' }, modernRequest(3, 'work'));
    const closing = Promise.all([inbound.close(5000), inbound.close(5000)]);
    await settled();
    expect(client.closed).toBe(false);
    go.resolve();
    await closing;
    await settled();
    expect(client.take()).toMatchObject([
      { id: 2, result: { done: true } },
      { id: 3, result: { done: true } },
    ]);
    expect(client.closed).toBe(true);
  });

  test.each([
    ['of a session', { jsonrpc: '2.0', id: 2, method: 'work' }],
    ['of 2026-07-28', modernRequest(2, 'work')],
  ])('ends as soon as the last request %s is answered', async (_, request) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const go = deferred();
    const { client, inbound } = await connected({ work: () => go.promise.then(() => ({})) });
    await client.request(1, 'initialize', hello());
    await client.send(request);
    const over = vi.fn<() => void>();
    const closing = inbound.close(5000).then(over);
    await settled();
    expect(over).not.toHaveBeenCalled();
    go.resolve();
    await settled();
    expect(over).toHaveBeenCalledOnce();
    await closing;
  });

  test.each([
    ['of a session', { jsonrpc: '2.0', id: 2, method: 'work' }],
    ['of 2026-07-28', modernRequest(2, 'work')],
  ])('answers requests %s that do not finish in time, and closes', async (_, request) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, inbound } = await connected({ work: () => new Promise(() => {}) });
    await client.request(1, 'initialize', hello());
    await client.send(request);
    const closing = inbound.close(5000);
    await vi.advanceTimersByTimeAsync(4900);
    expect([client.inbox, client.closed]).toEqual([[], false]);
    await vi.advanceTimersByTimeAsync(100);
    await closing;
    expect(client.take()).toMatchObject([{ id: 2, error: { code: -32000, message: 'The server is shutting down' } }]);
    expect(client.closed).toBe(true);
  });

  test('cancels the questions of a session whose request does not finish in time', async () => {
    const { client, inbound } = await connected({
      work: (exchange) => exchange.ask('elicitation/create', { message: 'm', requestedSchema: {} }),
    });
    await client.request(1, 'initialize', hello('2025-11-25', { elicitation: {} }));
    await client.send({ method: 'notifications/initialized' });
    await client.send({ id: 2, method: 'work' });
    await settled();
    const question = client.next();
    expect(question).toMatchObject({ method: 'elicitation/create' });
    await inbound.close(0);
    await settled();
    expect(client.take()).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: question.id } },
      { id: 2, error: { code: -32000, message: 'The server is shutting down' } },
    ]);
  });

  test('ends subscriptions with their response', async () => {
    const { client, inbound } = await connected({ 'subscriptions/listen': listening([]) });
    await client.send(modernRequest(1, 'subscriptions/listen', { notifications: {} }));
    client.take();
    await inbound.close(5000);
    await settled();
    expect(client.take()).toMatchObject([{ id: 1, result: { resultType: 'complete' } }]);
    expect(client.closed).toBe(true);
  });
});

describe('requests in flight are limited', () => {
  test('in number', async () => {
    const { client } = await served(scripted({ wait: () => new Promise(() => {}) }).service);
    await client.send(...Array.from({ length: 10_001 }, (_, id) => modernRequest(id, 'wait')));
    expect(client.take()).toMatchObject([{ id: 10_000, error: { code: -32600 } }]);
  });

  test('in size, even if results cannot be written', async () => {
    const transport = new HandTransport();
    const errors: Error[] = [];
    const { service } = scripted({ wait: () => new Promise(() => {}), odd: () => ({ big: 1n }) });
    await createInbound(service, { onerror: (error) => void errors.push(error) }).connect(transport);
    const send = (message: JsonObject, bytes: number): void => transport.onmessage!(message, { bytes });
    send(modernRequest(1, 'odd'), 60 * 2 ** 20);
    await settled();
    expect(transport.sent).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    send(modernRequest(2, 'wait'), 60 * 2 ** 20);
    send(modernRequest(3, 'wait'), 5 * 2 ** 20);
    expect(transport.sent.slice(1)).toMatchObject([{ id: 3, error: { code: -32600 } }]);
    // A single message larger than the limit is accepted.
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('BigInt')]);
  });
});

test('a result that JSON cannot represent is an error for its caller, and is reported', async () => {
  const transport = new HandTransport();
  const errors: Error[] = [];
  const { service } = scripted({ odd: () => ({ big: 1n }) });
  await createInbound(service, { onerror: (error) => void errors.push(error) }).connect(transport);
  transport.onmessage!({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello() });
  await settled();
  transport.onmessage!({ jsonrpc: '2.0', id: 2, method: 'odd' });
  await settled();
  expect(transport.sent.slice(1)).toMatchObject([{ id: 2, error: { code: -32603 } }]);
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('BigInt')]);
});

test('a connection that failed to open is not closed with the others', async () => {
  const transport = new HandTransport();
  transport.start = () => Promise.reject(new Error('no such port'));
  let closes = 0;
  transport.close = async () => void (closes += 1);
  const inbound = createInbound(scripted().service);
  await expect(inbound.connect(transport)).rejects.toThrow('no such port');
  await inbound.close(5000);
  expect(closes).toBe(0);
});

test('an answer that waits for a slow reader is kept as text only', async () => {
  const collect = garbageCollector();
  const results: WeakRef<JsonObject>[] = [];
  const { service } = scripted({
    work: () => {
      const result = { list: [{}] };
      results.push(new WeakRef(result));
      return result;
    },
  });
  const transport = new HandTransport();
  const slow: Promise<void>[] = [];
  transport.send = ({ method }: JsonObject) => {
    const sent = method === undefined ? new Promise<void>(() => {}) : Promise.resolve();
    slow.push(sent);
    return sent;
  };
  await createInbound(service).connect(transport);
  transport.onmessage!({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello() });
  await settled();
  transport.onmessage!({ jsonrpc: '2.0', id: 1, method: 'work' });
  await vi.waitFor(() => expect(slow).toHaveLength(2));
  await vi.waitFor(() => {
    collect();
    expect(results.map((result) => result.deref() === undefined)).toEqual([true]);
  });
});
