import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { aborted, deferred, listening, scripted, settled } from '../../test/support/service.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { Peer, hello, opened, served } from '../../test/support/wire.ts';
import type { Exchange, Service } from '../core/exchange.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { Message } from '../jsonrpc/message.ts';
import { McpServer } from '../server/index.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { serve } from '../wire/serve.ts';
import { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';

// It is loaded when it is first needed, which takes a while.
beforeAll(() => import('../wire/negotiate.ts'));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Bridged {
  bridge: Bridge;
  errors: Error[];
  /** The server's end of each connection that the bridge opened. */
  opened: Transport[];
  /** Everything that the servers received. */
  received: Message[];
}

/** A bridge to servers in memory. `server` attaches to each new connection. */
function bridged(server: (transport: Transport) => void, options: Partial<BridgeOptions> = {}): Bridged {
  const ends: Transport[] = [];
  const received: Message[] = [];
  const errors: Error[] = [];
  const bridge = createBridge({
    target: () => {
      const [near, far] = memoryTransportPair();
      ends.push(far);
      server(far);
      const { onmessage } = far;
      far.onmessage = (message, extra) => {
        received.push(message);
        onmessage?.(message, extra);
      };
      return near;
    },
    onerror: (error) => void errors.push(error),
    ...options,
  });
  onTestFinished(() => bridge.close());
  return { bridge, errors, opened: ends, received };
}

/** A server of a revision with a handshake. */
const to = (service: Service) => (transport: Transport) => void serve(service, transport, { eras: 'legacy' });

const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {}, vendor: { x: 1 } };
const everything = { roots: {}, sampling: {}, elicitation: {} };

test('all messages pass through unchanged if both sides speak the same revision', async () => {
  const subscribers: Exchange[] = [];
  const { service } = scripted(
    {
      'subscriptions/listen': listening(subscribers),
      'vendor/odd': ({ params }) => ({ structuredContent: { odd: [params] }, _meta: { kept: true } }),
      ask: (exchange) => exchange.ask('elicitation/create', { message: 'm', requestedSchema: {} }),
      work: async (exchange) => {
        await exchange.notify('notifications/progress', {
          progressToken: exchange.params['_meta'].progressToken,
          progress: 1,
        });
        await exchange.notify('notifications/message', { level: 'info', data: 'x' });
        return { done: true };
      },
    },
    capabilities,
  );
  const { bridge, errors } = bridged(to(service));
  const { client } = await served(bridge.service);
  expect((await client.request(0, 'initialize', hello('2025-06-18', everything))).result).toEqual({
    protocolVersion: '2025-06-18',
    capabilities,
    serverInfo: { name: 'scripted', version: '1' },
  });
  await client.send({ method: 'notifications/initialized' });
  await settled();

  expect((await client.request(1, 'vendor/odd', { a: 1 })).result).toEqual({
    structuredContent: { odd: [{ a: 1 }] },
    _meta: { kept: true },
  });
  expect((await client.request(2, 'unheard/of')).error.code).toBe(-32601);

  await client.send({ id: 3, method: 'work', params: { _meta: { progressToken: 'mine' } } });
  await settled();
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'mine', progress: 1 } },
    { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } },
    { jsonrpc: '2.0', id: 3, result: { done: true } },
  ]);

  await client.send({ id: 4, method: 'ask' });
  await settled();
  const question = client.next();
  expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'm', requestedSchema: {} } });
  await client.send({ id: question.id, result: { action: 'accept', content: { a: 1 } } });
  await settled();
  expect(client.next()).toEqual({ jsonrpc: '2.0', id: 4, result: { action: 'accept', content: { a: 1 } } });

  await client.request(5, 'resources/subscribe', { uri: 'x://y' });
  await subscribers.at(-1)!.notify('notifications/resources/updated', { uri: 'x://y' });
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await settled();
  expect(client.take().map((message) => 'method' in message && message.method)).toEqual([
    'notifications/resources/updated',
    'notifications/tools/list_changed',
  ]);
  expect(errors).toEqual([]);
});

test('cancelling a call cancels it at the server', async () => {
  const { service, seen } = scripted({ wait: ({ signal }) => aborted(signal).then(() => ({})) });
  const { bridge, received } = bridged(to(service));
  const { client } = await opened(bridge.service);
  await client.send({ id: 1, method: 'wait' });
  await settled();
  await client.send({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } });
  await settled();
  expect(seen.at(-1)!.signal.aborted).toBe(true);
  expect(received.at(-1)).toMatchObject({
    method: 'notifications/cancelled',
    params: { reason: expect.stringContaining('enough') },
  });
  expect(client.take()).toEqual([]);
});

test('each session has its own server process, which sees the identity of its client and ends with the session', async () => {
  const { service } = scripted();
  const { bridge, received, opened: ends } = bridged(to(service));
  const one = await opened(bridge.service, { revision: '2024-11-05', capabilities: { roots: {} } });
  const two = await opened(bridge.service, { revision: '2025-11-25' });
  expect(bridge.upstreams).toBe(2);
  expect(received.filter((message) => 'method' in message && message.method === 'initialize')).toMatchObject([
    { params: { protocolVersion: '2024-11-05', capabilities: { roots: {} }, clientInfo: { name: 'test' } } },
    { params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test' } } },
  ]);
  await one.client.transport.close();
  await settled();
  expect(bridge.upstreams).toBe(1);
  await expect(ends[0]!.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('closed');
  await ends[1]!.send({ jsonrpc: '2.0', method: 'notifications/x' });
  await two.client.transport.close();
  await settled();
  expect(bridge.upstreams).toBe(0);
});

test('with shared connections, all sessions have one server', async () => {
  const { bridge, opened: ends } = bridged(to(scripted().service), { connections: 'shared' });
  const one = await opened(bridge.service);
  const two = await opened(bridge.service);
  expect((await one.client.request(1, 'echo', { n: 1 })).result).toEqual({ params: { n: 1 } });
  expect((await two.client.request(1, 'echo', { n: 2 })).result).toEqual({ params: { n: 2 } });
  expect(ends).toHaveLength(1);
  await one.client.transport.close();
  await settled();
  expect((await two.client.request(2, 'echo')).result).toEqual({ params: {} });
});

test('requests in flight fail if the server is lost, and the next request starts it again', async () => {
  const { service } = scripted({ wait: () => new Promise(() => {}) });
  const { bridge, errors, opened: ends, received } = bridged(to(service));
  const { client } = await opened(bridge.service);
  await client.send({ id: 1, method: 'wait' });
  await settled();
  await ends[0]!.close();
  await settled();
  expect(client.take()).toEqual([
    { jsonrpc: '2.0', id: 1, error: { code: -32000, message: expect.stringContaining('Connection closed') } },
  ]);
  expect(errors.map(String)).toEqual([expect.stringContaining('The connection to the server was lost')]);
  expect(ends).toHaveLength(1);
  await client.send({ id: 2, method: 'echo' });
  await settled();
  expect(client.next()).toMatchObject({ id: 2, result: { params: {} } });
  expect(ends).toHaveLength(2);
  expect(
    received.filter((message) => 'method' in message && message.method === 'notifications/initialized'),
  ).toHaveLength(2);
});

test('a subscription is opened again at the restarted server, and continues', async () => {
  const subscribers: Exchange[] = [];
  const { service } = scripted({ 'subscriptions/listen': listening(subscribers) }, capabilities);
  const { bridge, opened: ends, received } = bridged(to(service));
  const { client } = await opened(bridge.service);
  await settled();
  await client.send({ id: 1, method: 'resources/subscribe', params: { uri: 'x://y' } });
  await settled();
  await ends[0]!.close();
  await settled();
  expect(subscribers).toEqual([]);
  await client.send({ id: 2, method: 'echo' });
  await settled();
  await settled();
  // No notification came for changes since the server was lost.
  const [subscribed, ...others] = client.take();
  expect(subscribed).toMatchObject({ id: 1 });
  expect(others).toHaveLength(3);
  const changes = [
    { method: 'notifications/tools/list_changed' },
    { method: 'notifications/resources/updated', params: { uri: 'x://y' } },
  ];
  for (const message of [...changes, { id: 2 }]) expect(others).toContainEqual(expect.objectContaining(message));
  expect(received.filter((message) => 'method' in message && message.method === 'resources/subscribe')).toHaveLength(2);
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await settled();
  expect(client.take()).toMatchObject([{ method: 'notifications/tools/list_changed' }]);
});

test('a server that crashes again and again is restarted after growing delays', async () => {
  let starts = 0;
  const { bridge } = bridged(
    (transport) => {
      starts += 1;
      void transport.start();
      queueMicrotask(() => void transport.close());
    },
    { connections: 'shared' },
  );
  const failures: Promise<unknown>[] = [];
  const attempt = async (): Promise<void> => {
    const failure = bridge.service(new TestExchange('tools/list')).then(
      () => 'success',
      (error: RpcError) => error.code,
    );
    failures.push(failure);
    await settled();
  };
  // All who wait for a start share it.
  await Promise.all([attempt(), attempt(), attempt()]);
  expect(starts).toBe(1);
  await attempt();
  expect(starts).toBe(2);
  for (const delay of [100, 200, 400]) {
    const before = starts;
    await attempt();
    await vi.advanceTimersByTimeAsync(delay - 1);
    expect(starts).toBe(before);
    await vi.advanceTimersByTimeAsync(1);
    expect(starts).toBe(before + 1);
  }
  expect(new Set(await Promise.all(failures))).toEqual(new Set([-32000]));
});

test('initialize times out if the server does not answer the handshake, and the next initialize tries again', async () => {
  let starts = 0;
  const { bridge } = bridged(
    (transport) => {
      starts += 1;
      if (starts > 1) to(scripted().service)(transport);
      else void transport.start();
    },
    { connectTimeout: 1000 },
  );
  const { client } = await served(bridge.service);
  await client.send({ id: 1, method: 'initialize', params: hello() });
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.take()).toMatchObject([{ id: 1, error: { code: -32001 } }]);
  expect(bridge.upstreams).toBe(0);
  await client.send({ id: 2, method: 'initialize', params: hello() });
  await settled();
  expect(client.next()).toMatchObject({ id: 2, result: { protocolVersion: '2025-11-25' } });
});

test('closing does not wait for a handshake without an answer', async () => {
  const { bridge, opened: ends } = bridged((transport) => void transport.start());
  const closed = deferred();
  const { client } = await served(bridge.service);
  await client.send({ id: 1, method: 'initialize', params: hello() });
  expect(ends).toHaveLength(1);
  const end = new Peer(ends[0]!);
  void bridge.close().then(closed.resolve);
  await closed.promise;
  await settled();
  expect(end.closed).toBe(true);
  expect(client.next()).toMatchObject({ id: 1, error: { code: -32000 } });
});

test('a server that exits right after the handshake is not reused', async () => {
  let starts = 0;
  const { service } = scripted();
  const { bridge } = bridged(
    (transport) => {
      starts += 1;
      if (starts > 1) {
        to(service)(transport);
        return;
      }
      transport.onmessage = ({ id }: { id: number }) => {
        const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
        void transport.send({ jsonrpc: '2.0', id, result });
        void transport.close();
      };
      void transport.start();
    },
    { connections: 'shared' },
  );
  await expect(bridge.check()).rejects.toMatchObject({ code: -32000 });
  expect(await bridge.service(new TestExchange('echo', { n: 1 }))).toEqual({ params: { n: 1 } });
});

test('a check connects once and leaves no connection behind', async () => {
  const { bridge, opened: ends } = bridged(to(scripted().service));
  await bridge.check();
  expect(ends).toHaveLength(1);
  await expect(ends[0]!.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('closed');
  expect(bridge.upstreams).toBe(0);
});

test.each([
  ['of a session', 'per-session'],
  ['shared by all', 'shared'],
] as const)('an idle connection %s is closed, and opened again when it is needed', async (_, connections) => {
  const subscribers: Exchange[] = [];
  const questions = [deferred(), deferred()];
  const { service } = scripted(
    {
      'subscriptions/listen': listening(subscribers),
      wait: () => questions[1]!.promise.then(() => ({})),
    },
    capabilities,
  );
  const { bridge, errors, opened: ends } = bridged(to(service), { idleTimeout: 10_000, connections });
  const { client } = await opened(bridge.service);
  await client.send({ id: 1, method: 'wait' });
  await vi.advanceTimersByTimeAsync(60_000);
  // A request is still without an answer.
  expect([bridge.upstreams, ends.length]).toEqual([1, 1]);
  questions[1]!.resolve();
  await vi.advanceTimersByTimeAsync(9000);
  expect(bridge.upstreams).toBe(1);
  await vi.advanceTimersByTimeAsync(4000);
  expect(bridge.upstreams).toBe(0);
  expect(subscribers).toEqual([]);
  client.take();

  await client.send({ id: 2, method: 'echo' });
  await settled();
  await settled();
  // Nobody knows what has changed in the meantime.
  expect(client.take()).toMatchObject([{ method: 'notifications/tools/list_changed' }, { id: 2, result: {} }]);
  expect([bridge.upstreams, ends.length, subscribers.length]).toEqual([1, 2, 1]);
  // The server did nothing wrong.
  expect([bridge.restarts, errors]).toEqual([0, []]);
});

test.each([0, Infinity, 2 ** 40])(
  'a connection stays open if the idle timeout is infinite or exceeds the limit of timers: %d',
  async (never) => {
    const { bridge, opened: ends } = bridged(to(scripted().service), { idleTimeout: never });
    await opened(bridge.service);
    await bridge.service(new TestExchange('echo', {}, { caller: { revision: '2026-07-28' } }));
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([bridge.upstreams, ends.length]).toEqual([2, 2]);
  },
);

test('a closed bridge accepts no new session', async () => {
  const { bridge } = bridged(to(scripted().service));
  await opened(bridge.service);
  await bridge.close();
  expect(bridge.upstreams).toBe(0);
  const { client } = await served(bridge.service);
  expect(await client.request(1, 'initialize', hello())).toMatchObject({ error: { message: 'The bridge is closed' } });
});

test('a call in an ended session rejects', async () => {
  const { bridge } = bridged(to(scripted().service));
  const session = { id: 's', signal: AbortSignal.abort() };
  const answer = bridge.service(new TestExchange('echo', {}, { caller: { session } }));
  await expect(answer).rejects.toThrow('The session has ended');
});

test.each([true, false])('only open connections are counted (shared: %j)', async (shared) => {
  const { bridge, opened: ends } = bridged(to(scripted().service), { connections: shared ? 'shared' : 'per-session' });
  expect(bridge.upstreams).toBe(0);
  const { client } = await opened(bridge.service);
  expect(bridge.upstreams).toBe(1);
  await ends[0]!.close();
  expect(bridge.upstreams).toBe(0);
  expect(await client.request(1, 'echo')).toMatchObject({ result: {} });
  expect(bridge.upstreams).toBe(1);
});

test('a session whose server was lost before it could subscribe subscribes with the next request', async () => {
  const { service } = scripted(
    {
      'subscriptions/listen': listening([]),
    },
    capabilities,
  );
  let attempt = 0;
  const { bridge, opened: ends } = bridged((transport) => {
    attempt += 1;
    if (attempt === 2) {
      transport.onmessage = () => void transport.close();
      void transport.start();
    } else void serve(service, transport);
  });
  const { client } = await served(bridge.service);
  await client.request(0, 'initialize', hello());
  await ends[0]!.close();
  await client.send({ method: 'notifications/initialized' });
  await settled();
  expect(attempt).toBe(2);
  await client.send({ id: 1, method: 'echo' });
  await vi.advanceTimersByTimeAsync(1000);
  await settled();
  expect(client.take()).toMatchObject([{ id: 1, result: {} }]);
  await ends[2]!.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await settled();
  expect(client.take()).toMatchObject([{ method: 'notifications/tools/list_changed' }]);
});

test('a closed bridge leaves no connection behind', async () => {
  vi.useRealTimers();
  const upstream = new McpServer({ name: 'upstream', version: '1' });
  const open = new Set<Socket>();
  const http = createServer((request, response) => upstream.node(request, response));
  http.on('connection', (socket) => void open.add(socket.once('close', () => open.delete(socket))));
  // A client keeps an idle connection for half of this time.
  http.keepAliveTimeout = 3_600_000;
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  const bridge = createBridge({ target: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` });
  await bridge.check();
  expect(open.size).toBeGreaterThan(0);
  await bridge.close();
  await expect.poll(() => open.size).toBe(0);
});

test('a connection on which a subscription is being opened is not idle', async () => {
  const agreed = deferred();
  const { service } = scripted(
    {
      'subscriptions/listen': async (exchange) => {
        const { notifications } = exchange.params;
        if (notifications.resourceSubscriptions) await agreed.promise;
        return listening([])(exchange);
      },
    },
    capabilities,
  );
  const { bridge } = bridged(to(service), { idleTimeout: 10_000 });
  const { client } = await opened(bridge.service);
  await client.send({ id: 1, method: 'resources/subscribe', params: { uri: 'a://b' } });
  await vi.advanceTimersByTimeAsync(30_000);
  agreed.resolve();
  await settled();
  expect(client.take()).toMatchObject([{ id: 1, result: {} }]);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(bridge.upstreams).toBe(0);
});
