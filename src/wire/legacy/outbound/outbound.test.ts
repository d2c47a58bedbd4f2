import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { garbageCollector } from '../../../../test/support/garbage-collector.ts';
import { TestExchange, type TestExchangeOptions } from '../../../../test/support/exchange.ts';
import { deferred, settled } from '../../../../test/support/service.ts';
import { Peer } from '../../../../test/support/wire.ts';
import { NotAsked } from '../../../core/exchange.ts';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject, Message, Request } from '../../../jsonrpc/message.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import type { Attribution } from './attribution.ts';
import { connectLegacy, type OutboundOptions } from './outbound.ts';
import type { Upstream } from '../../upstream.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const clientInfo = { name: 'us', version: '1' };
const everything = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} };

interface Wire {
  server: Peer;
  upstream: Promise<Upstream>;
  errors: Error[];
  transport: ReturnType<typeof memoryTransportPair>[0];
}

/** Starts to connect to a server that the test plays. */
async function connecting(options: Partial<OutboundOptions> = {}): Promise<Wire> {
  const [near, far] = memoryTransportPair();
  const server = new Peer(far);
  await far.start();
  const errors: Error[] = [];
  const upstream = connectLegacy(near, { clientInfo, onerror: (error) => void errors.push(error), ...options });
  upstream.catch(() => {});
  await settled();
  return { server, upstream, errors, transport: near };
}

const welcome = (protocolVersion: unknown = '2025-11-25', capabilities: JsonObject = everything) => ({
  protocolVersion,
  capabilities,
  serverInfo: { name: 'them', version: '2' },
  instructions: 'Hello.',
});

async function connected(options: Partial<OutboundOptions> = {}) {
  const { server, upstream, errors, transport } = await connecting(options);
  await server.send({ id: server.next().id, result: welcome() });
  const { service } = await upstream;
  /** Starts an exchange and waits until its request is sent. */
  const start = async (method: string, params: JsonObject = {}, exchangeOptions: TestExchangeOptions = {}) => {
    const exchange = new TestExchange(method, params, exchangeOptions);
    const result = service(exchange);
    result.catch(() => {});
    await settled();
    return { exchange, result };
  };
  return { server, upstream: await upstream, errors, start, service, transport };
}

/** The same, after notifications/initialized. */
async function ready(options: Partial<OutboundOptions> = {}) {
  const wire = await connected(options);
  await wire.start('notifications/first');
  wire.server.take();
  return wire;
}

describe('the handshake', () => {
  test('requests the newest revision with the client’s identity', async () => {
    const { server } = await connecting({ capabilities: { roots: {} } });
    expect(server.next()).toEqual({
      jsonrpc: '2.0',
      id: expect.anything(),
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo },
    });
  });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'continues in %s if the server chooses it',
    async (revision) => {
      const { server, upstream } = await connecting();
      await server.send({ id: server.next().id, result: welcome(revision) });
      expect(await upstream).toMatchObject({
        revision,
        discovered: {
          supportedVersions: [revision],
          capabilities: everything,
          instructions: 'Hello.',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'them', version: '2' } },
        },
      });
    },
  );

  test.each(['2026-07-28', '1999-01-01', undefined, 5, { toString: 1 }])(
    'fails if the server answers with revision %j',
    async (revision) => {
      const { server, upstream } = await connecting();
      await server.send({ id: server.next().id, result: { ...welcome(), protocolVersion: revision } });
      await expect(upstream).rejects.toThrow('which this client does not');
      expect(server.closed).toBe(true);
    },
  );

  test('fails with the beginning of a very long revision', async () => {
    const { server, upstream } = await connecting();
    const protocolVersion = '\u007f'.repeat(100_000);
    await server.send({ id: server.next().id, result: { ...welcome(), protocolVersion } });
    const message = await upstream.then(String, (error: Error) => error.message);
    expect(message).toMatch(
      /^The server speaks revision "(\\u007f){255}… \(100002 characters\), which this client does not speak$/,
    );
  });

  test('fails with the error of the server', async () => {
    const { server, upstream } = await connecting();
    await server.send({ id: server.next().id, error: { code: -32602, message: 'no such revision' } });
    await expect(upstream).rejects.toMatchObject({ code: -32602 });
    expect(server.closed).toBe(true);
  });

  test('fails after a timeout, without a cancellation', async () => {
    const { server, upstream } = await connecting({ handshakeTimeout: 1000 });
    server.take();
    await vi.advanceTimersByTimeAsync(1000);
    await expect(upstream).rejects.toMatchObject({ code: -32001 });
    expect(server.take()).toEqual([]);
    expect(server.closed).toBe(true);
  });

  test('fails if the server exits, with the reason', async () => {
    const { server, upstream, transport } = await connecting();
    Object.assign(transport, { closeReason: new Error('exit code 3') });
    await server.transport.close();
    await expect(upstream).rejects.toMatchObject({ code: -32000, message: 'Connection closed: exit code 3' });
  });

  test('assumes that a server before 2025-03-26 supports completion, because it has no capability for it', async () => {
    const capabilitiesOf = async (revision: string, capabilities: JsonObject): Promise<JsonObject> => {
      const { server, upstream } = await connecting();
      await server.send({ id: server.next().id, result: welcome(revision, capabilities) });
      return (await upstream).discovered.capabilities;
    };
    expect(await capabilitiesOf('2024-11-05', { prompts: {} })).toEqual({ prompts: {}, completions: {} });
    expect(await capabilitiesOf('2024-11-05', { tools: {} })).toEqual({ tools: {} });
    expect(await capabilitiesOf('2025-03-26', { prompts: {} })).toEqual({ prompts: {} });
  });

  test.each(['text', ['tools'], 7, null])('takes %j in place of capabilities for none', async (capabilities) => {
    const { server, upstream } = await connecting();
    await server.send({ id: server.next().id, result: welcome('2025-11-25', capabilities as never) });
    expect((await upstream).discovered.capabilities).toEqual({});
  });

  test('answers a ping during the handshake', async () => {
    const { server } = await connecting();
    server.take();
    await server.send({ id: 'p', method: 'ping' });
    expect(server.take()).toEqual([{ jsonrpc: '2.0', id: 'p', result: {} }]);
  });

  test('notifications/initialized goes out once, before the first exchange', async () => {
    const { server, start } = await connected();
    expect(server.take()).toEqual([]);
    await start('server/discover');
    expect(server.take()).toEqual([]);
    await start('tools/list');
    await start('tools/list');
    expect(server.take().map((message) => 'method' in message && message.method)).toEqual([
      'notifications/initialized',
      'tools/list',
      'tools/list',
    ]);
  });
});

describe('calls', () => {
  test('have their own ids and are matched by them', async () => {
    const { server, start } = await ready();
    const one = await start('tools/call', { name: 'a' });
    const two = await start('vendor/odd', { b: [2] });
    const [first, second] = [server.next(), server.next()];
    expect(first).toEqual({ jsonrpc: '2.0', id: first.id, method: 'tools/call', params: { name: 'a' } });
    expect(second).toEqual({ jsonrpc: '2.0', id: second.id, method: 'vendor/odd', params: { b: [2] } });
    await server.send(
      { id: second.id, error: { code: -5, message: 'no', data: [1] } },
      { id: first.id, result: { a: 1 } },
    );
    expect(await one.result).toEqual({ a: 1 });
    await expect(two.result).rejects.toMatchObject({ code: -5, message: 'no', data: [1] });
  });

  test('are cancelled at the server if the caller cancels, and the response is not awaited', async () => {
    const { server, start, errors } = await ready();
    const { exchange, result } = await start('tools/call', { _meta: { progressToken: 'mine' } });
    const { id, params } = server.next();
    exchange.abort();
    await expect(result).rejects.toThrow('aborted');
    await settled();
    expect(server.take()).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: expect.any(String) } },
    ]);
    // A response that crosses with the cancellation is not an error.
    const { progressToken } = params['_meta'];
    await server.send({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    await server.send({ id, result: {} });
    expect(errors).toEqual([]);
  });

  test('leave nothing in memory if they are cancelled and the server never answers', async () => {
    const collect = garbageCollector();
    const { server, start } = await ready();
    const cancelled = async (): Promise<WeakRef<TestExchange>> => {
      const { exchange, result } = await start('tools/call');
      exchange.abort();
      await result.catch(() => {});
      await settled();
      server.take();
      return new WeakRef(exchange);
    };
    const call = await cancelled();
    vi.useRealTimers();
    await vi.waitFor(() => {
      collect();
      expect(call.deref() === undefined).toBe(true);
    });
  });

  test('are not sent if they are cancelled before they begin', async () => {
    const { server, service } = await ready();
    const exchange = new TestExchange('tools/call');
    exchange.abort();
    await expect(service(exchange)).rejects.toThrow('aborted');
    expect(server.take()).toEqual([]);
  });

  test('time out without a response, and are cancelled at the server', async () => {
    const { server, start } = await ready({ timeout: 1000 });
    const { result } = await start('tools/call');
    const { id } = server.next();
    await vi.advanceTimersByTimeAsync(1000);
    await expect(result).rejects.toMatchObject({ code: -32001 });
    expect(server.take()).toMatchObject([{ method: 'notifications/cancelled', params: { requestId: id } }]);
  });

  test('of a caller of 2026-07-28 get a result that names the server, as every result there should', async () => {
    const { server, start } = await ready();
    const names = { 'io.modelcontextprotocol/serverInfo': { name: 'them', version: '2' } };
    for (const [revision, _meta] of [
      ['2026-07-28', { own: 1, ...names }],
      ['2025-11-25', { own: 1 }],
    ] as const) {
      const { result } = await start('tools/call', { name: 'a' }, { caller: { revision } });
      await server.send({ id: server.next().id, result: { content: [], _meta: { own: 1 } } });
      expect(await result).toEqual({ content: [], _meta });
    }
  });

  test.each(['input_required', 'task', 'complete', 7])(
    'get a result without the type %j, which handshake revisions do not have',
    async (resultType) => {
      const { server, start } = await ready();
      const { result } = await start('tools/call', { name: 'x' });
      const inputRequests = { q: { method: 'elicitation/create', params: { message: 'Your password?' } } };
      await server.send({ id: server.next().id, result: { resultType, content: [], inputRequests } });
      expect(await result).toEqual({ content: [], inputRequests });
    },
  );

  test('do not contain the _meta of a 2026-07-28 caller, which the server would misunderstand', async () => {
    const { server, start } = await ready();
    const sender = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'caller', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      'io.modelcontextprotocol/logLevel': 'info',
    };
    await start('tools/call', { name: 'x', _meta: { ...sender, progressToken: 'mine', other: 1 } });
    expect(server.next().params['_meta']).toEqual({ progressToken: expect.any(Number), other: 1 });
    await start('tools/call', { name: 'x', _meta: sender });
    expect(server.next().params).toEqual({ name: 'x' });
    await start('notifications/custom', { x: 1, _meta: sender });
    expect(server.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/custom', params: { x: 1 } });
    expect(server.take()).toEqual([]);
  });

  test('get their progress with the token of their caller, and progress extends the timeout', async () => {
    const { server, start, errors } = await ready({ timeout: 1000, maxTimeout: 2500 });
    // Callers do not know each other, and chose the same token.
    const one = await start('tools/call', { _meta: { progressToken: 'mine', other: 1 } });
    const two = await start('tools/call', { _meta: { progressToken: 'mine' } });
    const [first, second] = [server.next(), server.next()];
    const { progressToken } = first.params['_meta'];
    expect(first.params['_meta'].other).toBe(1);
    expect(second.params['_meta'].progressToken).not.toBe(progressToken);
    await vi.advanceTimersByTimeAsync(900);
    await server.send({
      method: 'notifications/progress',
      params: { progressToken, progress: 1, total: 2, message: 'm' },
    });
    expect(one.exchange.notified).toEqual([
      { method: 'notifications/progress', params: { progressToken: 'mine', progress: 1, total: 2, message: 'm' } },
    ]);
    expect(two.exchange.notified).toEqual([]);
    await vi.advanceTimersByTimeAsync(900);
    await expect(two.result).rejects.toMatchObject({ code: -32001 });
    await server.send({ id: first.id, result: {} });
    expect(await one.result).toEqual({});
    await server.send({ method: 'notifications/progress', params: { progressToken, progress: 2 } });
    expect(errors.at(-1)!.message).toContain('no active request');
  });

  test('keep only the newest progress for a slow reader, and send it before the result', async () => {
    const { server, start } = await ready();
    const order: unknown[] = [];
    const { result } = await start(
      'tools/call',
      { _meta: { progressToken: 'mine' } },
      {
        onnotify: (_method, params) => {
          order.push(params!['progress']);
          return new Promise(() => {});
        },
      },
    );
    void result.then(() => order.push('result'));
    const { id, params } = server.next();
    const { progressToken } = params['_meta'];
    for (let progress = 1; progress <= 5000; progress += 1)
      void server.transport.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress },
      });
    await settled();
    const before = order.length;
    expect(before).toBeLessThan(100);
    await server.send({ id, result: {} });
    expect(order.slice(before)).toEqual([5000, 'result']);
  });

  test('fail with an error without an id if only one is in flight', async () => {
    const { server, start, errors } = await ready();
    const error = { code: -32700, message: 'Parse error' };
    const one = await start('tools/call');
    await server.send({ error });
    await expect(one.result).rejects.toMatchObject(error);
    expect(errors).toEqual([]);
    const [two, three] = [await start('tools/call'), await start('tools/call')];
    await server.send({ error });
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('Parse error')]);
    server.next();
    for (const { result } of [two, three]) {
      await server.send({ id: server.next().id, result: {} });
      expect(await result).toEqual({});
    }
  });

  test('fail when the connection closes, and so do later ones', async () => {
    const { server, start, upstream, transport } = await ready();
    Object.assign(transport, { closeReason: new Error('killed by SIGKILL') });
    const closed = deferred();
    upstream.onclose = closed.resolve;
    const { result } = await start('tools/call');
    await server.transport.close();
    await closed.promise;
    const lost = { code: -32000, message: 'Connection closed: killed by SIGKILL' };
    await expect(result).rejects.toMatchObject(lost);
    await expect((await start('tools/list')).result).rejects.toMatchObject(lost);
    expect(upstream.closed).toBe(true);
  });

  test('leave no listener on the signal of their caller', async () => {
    const { server, start } = await ready();
    const { exchange, result } = await start('tools/call');
    await server.send({ id: server.next().id, result: {} });
    await result;
    expect(getEventListeners(exchange.signal, 'abort')).toEqual([]);
  });

  test('of a notification method are sent as notifications', async () => {
    const { server, start } = await ready();
    await start('notifications/roots/list_changed', {});
    expect(server.take()).toEqual([{ jsonrpc: '2.0', method: 'notifications/roots/list_changed', params: {} }]);
  });
});

describe('questions of the server', () => {
  const answering = (name: string): TestExchangeOptions => ({ onask: (method, params) => ({ name, method, params }) });

  test('belong to the call in flight', async () => {
    const { server, start } = await ready();
    await start('prompts/get', {}, answering('call'));
    server.take();
    await server.send({ id: 's1', method: 'roots/list' });
    expect(server.take()).toEqual([
      { jsonrpc: '2.0', id: 's1', result: { name: 'call', method: 'roots/list', params: {} } },
    ]);
  });

  test('belong to the newest tools/call, otherwise to the newest call, otherwise to a subscriber', async () => {
    const { server, start } = await ready();
    const nextAsked = async (): Promise<string> => {
      await server.send({ id: 'q', method: 'roots/list' });
      const answer: any = server.take().at(-1);
      return answer.result.name;
    };
    const session = { id: 's', signal: new AbortController().signal };
    const listener = await start('subscriptions/listen', {}, { ...answering('listener'), caller: { session } });
    server
      .take()
      .forEach(
        (message) => 'id' in message && void server.transport.send({ jsonrpc: '2.0', id: message.id!, result: {} }),
      );
    await settled();
    expect(await nextAsked()).toBe('listener');
    await start('prompts/get', {}, answering('prompt'));
    expect(await nextAsked()).toBe('prompt');
    await start('tools/call', {}, answering('tool 1'));
    await start('tools/call', {}, answering('tool 2'));
    await start('resources/read', {}, answering('resource'));
    expect(await nextAsked()).toBe('tool 2');
    listener.exchange.abort();
  });

  test('go to another call while a caller without a session has not answered the question of its newest call', async () => {
    const { server, start } = await ready();
    const nextAsked = async (id: string): Promise<unknown> => {
      await server.send({ id, method: 'roots/list' });
      return server.take();
    };
    const read = await start('resources/read', {}, answering('resource'));
    const answer = deferred<JsonObject>();
    await start('tools/call', {}, { onask: () => answer.promise });
    await start('tools/list', {}, answering('list'));
    server.take();
    expect(await nextAsked('q1')).toEqual([]);
    expect(await nextAsked('q2')).toMatchObject([{ id: 'q2', result: { name: 'resource' } }]);
    read.exchange.abort();
    await settled();
    server.take();
    expect(await nextAsked('q3')).toEqual([]);
    answer.resolve({ name: 'tool' });
    await settled();
    expect(server.take()).toMatchObject([
      { id: 'q1', result: { name: 'tool' } },
      { id: 'q3', result: { name: 'tool' } },
    ]);
    await start('resources/read', {}, answering('resource'));
    server.take();
    expect(await nextAsked('q4')).toMatchObject([{ id: 'q4', result: { name: 'tool' } }]);
  });

  test('before any call are sent with the first call that can ask them', async () => {
    const { server, start } = await ready();
    await server.send({ id: 's1', method: 'roots/list' });
    // Without a session, a caller cannot be asked during a list request.
    await start('tools/list', {}, answering('list'));
    await start('tools/call', {}, answering('call'));
    expect(server.take().at(-1)).toMatchObject({ id: 's1', result: { name: 'call' } });
  });

  test('are asked through another call if their own is answered first', async () => {
    const { server, start } = await ready();
    await start('tools/call', { name: 'older' }, answering('older'));
    const newer = deferred<JsonObject>();
    await start('tools/call', { name: 'newer' }, { onask: () => newer.promise });
    const [, call] = server.take();
    await server.send({ id: 's1', method: 'roots/list' }, { id: (call as { id: number }).id, result: {} });
    newer.reject(new NotAsked('roots/list', 'tools/call'));
    await vi.advanceTimersByTimeAsync(0);
    expect(server.take()).toMatchObject([{ id: 's1', result: { name: 'older' } }]);
  });

  test.each(['before', 'after'])(
    'are asked through another call if they come right %s the result of the newest',
    async (when) => {
      const { server, start, transport } = await ready();
      await start('tools/call', { name: 'older' }, answering('older'));
      const refuse = (): Promise<never> => Promise.reject(new NotAsked('elicitation/create', 'tools/call'));
      await start('tools/call', { name: 'newer' }, { onask: refuse });
      const { id } = server.take()[1] as Request;
      const question: Message = { jsonrpc: '2.0', id: 's1', method: 'elicitation/create' };
      const result: Message = { jsonrpc: '2.0', id, result: {} };
      // In one turn of the event loop, as lines that are read together.
      for (const message of when === 'before' ? [question, result] : [result, question]) transport.onmessage!(message);
      await vi.advanceTimersByTimeAsync(0);
      expect(server.take()).toMatchObject([{ id: 's1', result: { name: 'older' } }]);
    },
  );

  test('wait for a later turn of the event loop if the caller of the newest call has left', async () => {
    const { server, start } = await ready();
    const older = await start('tools/call', { name: 'older' }, answering('older'));
    const refuse = (): Promise<never> => Promise.reject(new NotAsked('roots/list', 'tools/call'));
    const newer = await start('tools/call', { name: 'newer' }, { onask: refuse });
    const [, call] = server.take();
    await server.send({ id: 's1', method: 'roots/list' });
    await settled();
    expect(newer.exchange.asked).toHaveLength(1);
    await server.send({ id: (call as { id: number }).id, result: {} });
    await vi.advanceTimersByTimeAsync(0);
    expect([newer.exchange.asked.length, older.exchange.asked.length]).toEqual([1, 1]);
  });

  test('that nobody can answer are refused after 30 seconds', async () => {
    const { server } = await ready();
    await server.send({ id: 's1', method: 'roots/list' });
    expect(server.take()).toEqual([]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(server.take()).toEqual([
      { jsonrpc: '2.0', id: 's1', error: { code: -32603, message: expect.stringContaining('roots/list') } },
    ]);
  });

  test('are not asked through a call that was answered', async () => {
    const { server, start } = await ready();
    const { exchange } = await start('tools/call', {}, answering('call'));
    await server.send({ id: server.next().id, result: {} });
    await server.send({ id: 's1', method: 'roots/list' });
    expect(exchange.asked).toEqual([]);
  });

  test('are cancelled for their caller when the connection closes', async () => {
    const { server, start } = await ready();
    let signal: AbortSignal | undefined;
    const { exchange } = await start('tools/call');
    exchange.ask = (_method, _params, options) => {
      signal = options?.signal;
      return new Promise(() => {});
    };
    await server.send({ id: 's1', method: 'roots/list' });
    expect(signal!.aborted).toBe(false);
    await server.transport.close();
    expect(signal!.reason).toMatchObject({ code: -32000, message: 'Connection closed' });
  });

  test('are limited in number: further ones are refused until one is answered', async () => {
    const { server, start } = await ready();
    const first = deferred<JsonObject>();
    let questionCount = 0;
    const onask = (): Promise<JsonObject> => ((questionCount += 1) === 1 ? first.promise : new Promise(() => {}));
    await start('tools/call', {}, { onask });
    server.take();
    const ask = (n: number) => ({ id: `s${n}`, method: 'roots/list' });
    await server.send(...Array.from({ length: 1001 }, (_, n) => ask(n)));
    const refusal = { code: -32603, message: expect.stringContaining('1000 questions') };
    expect([questionCount, server.take()]).toEqual([1000, [{ jsonrpc: '2.0', id: 's1000', error: refusal }]]);
    first.resolve({ roots: [] });
    await settled();
    server.take();
    await server.send(ask(1001));
    expect([questionCount, server.take()]).toEqual([1001, []]);
  });

  const MEBIBYTE = 1024 * 1024;
  const big = (n: number, size = 20) => ({
    id: `s${n}`,
    method: 'roots/list',
    params: { text: 'x'.repeat(size * MEBIBYTE) },
  });
  const refused = (n: number, why: string) => ({
    jsonrpc: '2.0',
    id: `s${n}`,
    error: { code: -32603, message: expect.stringContaining(why) },
  });

  test('are limited in memory: further ones are refused until one is answered or withdrawn', async () => {
    const { server, start } = await ready();
    const first = deferred<JsonObject>();
    let questionCount = 0;
    const onask = (): Promise<JsonObject> => ((questionCount += 1) === 1 ? first.promise : new Promise(() => {}));
    await start('tools/call', {}, { onask });
    server.take();
    await server.send(big(1), big(2), big(3), big(4));
    expect([questionCount, server.take()]).toEqual([3, [refused(4, '67108864 bytes')]]);
    first.resolve({ roots: [] });
    await settled();
    server.take();
    await server.send(big(5), big(6));
    expect([questionCount, server.take()]).toEqual([4, [refused(6, 'bytes')]]);
    await server.send({ method: 'notifications/cancelled', params: { requestId: 's5' } }, big(7));
    expect([questionCount, server.take()]).toEqual([5, []]);
  });

  test('may be larger than the limit if no other is open', async () => {
    const { server, start } = await ready();
    await start('tools/call', {}, answering('call'));
    server.take();
    await server.send(big(1, 70));
    expect(server.take()).toMatchObject([{ id: 's1', result: { name: 'call' } }]);
  });

  test('of all servers are limited in memory, until a connection closes', async () => {
    const servers: Peer[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { server, start } = await ready();
      await start('tools/call', {}, { onask: () => new Promise(() => {}) });
      server.take();
      servers.push(server);
    }
    const [first, , , , last] = servers as [Peer, Peer, Peer, Peer, Peer];
    for (const server of servers) await server.send(big(1), big(2), big(3));
    expect(last.take()).toEqual([
      refused(1, 'of all servers'),
      refused(2, 'of all servers'),
      refused(3, 'of all servers'),
    ]);
    await last.send({ id: 'small', method: 'roots/list' });
    expect(last.take()).toEqual([]);
    await first.transport.close();
    await last.send(big(4));
    expect(last.take()).toEqual([]);
  });

  test("fail with the caller's error", async () => {
    const { server, start } = await ready();
    await start('tools/call', {}, { onask: () => Promise.reject(new RpcError(-1, 'declined', { data: 5 })) });
    server.take();
    await server.send({ id: 's1', method: 'sampling/createMessage', params: {} });
    expect(server.take()).toEqual([{ jsonrpc: '2.0', id: 's1', error: { code: -1, message: 'declined', data: 5 } }]);
  });

  test('that the server cancels are not answered, and the caller is notified', async () => {
    const { server, start } = await ready();
    const answer = deferred<JsonObject>();
    let signal: AbortSignal | undefined;
    const { exchange } = await start('tools/call');
    exchange.ask = (_method, _params, options) => {
      signal = options?.signal;
      return answer.promise;
    };
    server.take();
    await server.send({ id: 's1', method: 'roots/list' });
    await server.send({ method: 'notifications/cancelled', params: { requestId: 's1', reason: 'never mind' } });
    expect(signal!.aborted).toBe(true);
    expect(String(signal!.reason)).toContain('never mind');
    answer.resolve({});
    await settled();
    expect(server.take()).toEqual([]);
  });

  test('with an id in flight are refused without an id', async () => {
    const { server, start } = await ready();
    await start('tools/call', {}, { onask: () => new Promise(() => {}) });
    server.take();
    await server.send({ id: 1, method: 'roots/list' }, { id: 1, method: 'roots/list' });
    const [refusal, ...more] = server.take();
    expect(refusal).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } });
    expect(more).toEqual([]);
  });
});

describe('a subscription', () => {
  const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

  /** Answers all pending requests with an empty result, and returns them. */
  async function answerAll(server: Peer): Promise<string[]> {
    const notifications: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      for (const message of server.take()) {
        if (!('method' in message)) continue;
        notifications.push(message.params?.['uri'] ? `${message.method} ${message.params['uri']}` : message.method);
        if ('id' in message) await server.send({ id: message.id, result: {} });
      }
    }
    return notifications;
  }

  test('is acknowledged first, with what the server supports', async () => {
    const { server, start } = await ready();
    const { exchange } = await start('subscriptions/listen', { notifications: all });
    await answerAll(server);
    expect(exchange.notified).toEqual([
      {
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true, resourcesListChanged: true } },
      },
    ]);
  });

  test('gets the changes that were requested, until it ends', async () => {
    const { server, start } = await ready();
    const { exchange, result } = await start('subscriptions/listen', { notifications: { toolsListChanged: true } });
    exchange.notified.length = 0;
    const notify = (method: string, params: JsonObject = {}): Promise<void> => server.send({ method, params });
    await notify('notifications/tools/list_changed');
    await notify('notifications/resources/list_changed');
    await notify('notifications/resources/updated', { uri: 'x://y' });
    await notify('notifications/vendor');
    expect(exchange.notified.map(({ method }) => method)).toEqual([
      'notifications/tools/list_changed',
      'notifications/vendor',
    ]);
    exchange.abort();
    expect(await result).toEqual({});
    await notify('notifications/tools/list_changed');
    expect(exchange.notified).toHaveLength(2);
  });

  test('to a resource subscribes once for all callers, and unsubscribes with the last one', async () => {
    const { server, start } = await ready();
    const params = { notifications: { resourceSubscriptions: ['x://y'] } };
    const one = await start('subscriptions/listen', params);
    expect(await answerAll(server)).toEqual(['resources/subscribe x://y']);
    const two = await start('subscriptions/listen', params);
    expect(await answerAll(server)).toEqual([]);
    await server.send({ method: 'notifications/resources/updated', params: { uri: 'x://y' } });
    for (const { exchange } of [one, two])
      expect(exchange.notified.at(-1)!.method).toBe('notifications/resources/updated');
    one.exchange.abort();
    await settled();
    expect(await answerAll(server)).toEqual([]);
    two.exchange.abort();
    await settled();
    expect(await answerAll(server)).toEqual(['resources/unsubscribe x://y']);
  });

  test('to a resource that the server refuses fails', async () => {
    const { server, start } = await ready();
    const { result } = await start('subscriptions/listen', { notifications: { resourceSubscriptions: ['x://y'] } });
    await server.send({ id: server.next().id, error: { code: -32002, message: 'no such resource' } });
    await expect(result).rejects.toMatchObject({ code: -32002 });
  });

  test('requests the lowest log level of all callers', async () => {
    const { server, start } = await ready();
    await start('subscriptions/listen', {}, { caller: { logLevel: 'error' } });
    const first = server.next();
    expect([first.method, first.params]).toEqual(['logging/setLevel', { level: 'error' }]);
    await server.send({ id: first.id, result: {} });
    await start('subscriptions/listen', {}, { caller: { logLevel: 'info' } });
    expect(server.next().params).toEqual({ level: 'info' });
  });

  test('gets a log message unless there is exactly one call, which then gets it', async () => {
    const { server, start } = await ready();
    const listener = await start('subscriptions/listen', {});
    const call = await start('tools/call');
    await server.send({ method: 'notifications/message', params: { level: 'info', data: 1 } });
    await start('tools/call');
    await server.send({ method: 'notifications/message', params: { level: 'info', data: 2 } });
    expect(call.exchange.notified.map(({ params }) => params!['data'])).toEqual([1]);
    expect(listener.exchange.notified.slice(1).map(({ params }) => params!['data'])).toEqual([2]);
  });

  test('gets log messages as quickly with many calls in flight', async () => {
    const { server, start, transport } = await ready();
    const calls = await Promise.all(
      Array.from({ length: 4000 }, () => start('tools/call', {}, { caller: { logLevel: 'info' } })),
    );
    server.take();
    const before = process.cpuUsage();
    for (let data = 0; data < 12_000; data += 1) {
      transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } }, {});
    }
    // Searching all calls for each message took several seconds. This takes less than 100 ms.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(1500);
    await settled();
    expect(calls.at(-1)!.exchange.notified.length).toBeGreaterThan(0);
    expect(calls.slice(0, -1).every(({ exchange }) => exchange.notified.length === 0)).toBe(true);
  });

  test('does not get an unknown notification while a caller without a session has the only call', async () => {
    const { server, start } = await ready();
    const listener = await start('subscriptions/listen', {});
    const notifyVendor = (n: number): Promise<void> => server.send({ method: 'notifications/vendor', params: { n } });
    const call = await start('tools/call');
    await notifyVendor(1);
    // A subscriber gets no messages of calls.
    await server.send({ method: 'notifications/tools/list_changed' });
    await start('tools/call');
    await notifyVendor(2);
    expect(call.exchange.notified).toEqual([{ method: 'notifications/vendor', params: { n: 1 } }]);
    expect(listener.exchange.notified.slice(1)).toEqual([{ method: 'notifications/vendor', params: { n: 2 } }]);
  });

  test('does not get the messages on the stream of a call', async () => {
    const { server, start, transport } = await ready();
    const options = { caller: { session: { id: 's', signal: new AbortController().signal } } };
    const listener = await start('subscriptions/listen', {}, options);
    const call = await start('tools/call', {}, options);
    const { id } = server.take().find((message) => 'method' in message && message.method === 'tools/call') as any;
    const notice = { jsonrpc: '2.0', method: 'notifications/vendor' } as const;
    transport.onmessage?.(notice, { relatedRequestId: id });
    transport.onmessage?.(notice, {});
    await settled();
    expect(call.exchange.notified).toHaveLength(1);
    expect(listener.exchange.notified.slice(1)).toHaveLength(1);
  });

  test('does not get a log message right after a response, because it belongs to that call', async () => {
    const { server, start } = await ready({ streams: true });
    const { exchange, result } = await start('tools/call', {}, { caller: { logLevel: 'info' } });
    const level = server.next();
    await server.send({ id: level.id, result: {} });
    await server.send({ id: server.next().id, result: { done: true } });
    await server.send({ method: 'notifications/message', params: { level: 'info', data: 1 } });
    expect(exchange.notified.map(({ method }) => method)).toEqual(['notifications/message']);
    await vi.advanceTimersByTimeAsync(20);
    expect(await result).toEqual({ done: true });
  });

  test('in a new session does not lose messages that a slow reader has not read', async () => {
    const { server, start } = await ready();
    const session = { id: 's', signal: new AbortController().signal };
    const options = { caller: { session } };
    const stuck = {
      ...options,
      onnotify: (method: string) => (method.endsWith('acknowledged') ? undefined : new Promise<void>(() => {})),
    };
    const filter = { notifications: { toolsListChanged: true } };
    const one = await start('subscriptions/listen', filter, stuck);
    for (let n = 0; n < 100; n += 1) void server.send({ method: 'notifications/vendor', params: { n } });
    await server.send({ method: 'notifications/tools/list_changed' });
    const had = one.exchange.notified.length;
    expect(had).toBeLessThan(100);
    const two = await start('subscriptions/listen', filter, options);
    one.exchange.abort();
    await settled();
    expect(two.exchange.notified.map(({ method }) => method)).toContain('notifications/tools/list_changed');
    expect(two.exchange.notified.at(-2)!.params).toEqual({ n: 99 });
  });

  test('fails when the connection closes', async () => {
    const { server, start } = await ready();
    const { result } = await start('subscriptions/listen', {});
    await server.transport.close();
    await expect(result).rejects.toMatchObject({ code: -32000 });
  });
});

test('on a shared connection, a question on the stream of a call that has ended reaches no other call', async () => {
  const attribution: Attribution = { shared: true, question: () => other.exchange, message: () => undefined };
  const { server, start, transport } = await ready({ attribution });
  const ended = await start('tools/call');
  const { id } = server.next();
  const other = await start('tools/call');
  server.take();
  ended.exchange.abort();
  await settled();
  server.take();
  transport.onmessage?.({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create' }, { relatedRequestId: id });
  await settled();
  const error = { code: -32600, message: 'All calls that may have asked this have ended' };
  expect(server.next()).toMatchObject({ id: 'q', error });
  expect(other.exchange.asked).toEqual([]);
});

/** An attribution that notes which calls are cancelled, and which of these the server answers. */
function cancellations(): { heard: string[]; attribution: Attribution } {
  const heard: string[] = [];
  const attribution: Attribution = {
    question: () => Promise.reject(new Error('unknown')),
    message: () => undefined,
    cancelled: ({ method }) => {
      heard.push(`${method} is cancelled`);
      return () => heard.push(`${method} is answered`);
    },
  };
  return { heard, attribution };
}

test('a call that has timed out counts as cancelled until the server answers it', async () => {
  const { heard, attribution } = cancellations();
  const { server, start } = await ready({ attribution, timeout: 1000 });
  await start('tools/call');
  const { id } = server.next();
  await vi.advanceTimersByTimeAsync(1000);
  expect(heard).toEqual(['tools/call is cancelled']);
  await server.send({ id, result: {} });
  expect(heard).toEqual(['tools/call is cancelled', 'tools/call is answered']);
});

test('a call that ends with an error without an id counts as cancelled until the server answers it', async () => {
  const { heard, attribution } = cancellations();
  const { server, start } = await ready({ attribution });
  const { result } = await start('tools/call');
  const { id } = server.next();
  const error = { code: -32700, message: 'Parse error' };
  await server.send({ error });
  await expect(result).rejects.toMatchObject(error);
  expect(heard).toEqual(['tools/call is cancelled']);
  await server.send({ id, result: {} });
  expect(heard).toEqual(['tools/call is cancelled', 'tools/call is answered']);
});
