import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { linesOf } from '../../../../test/support/lines.ts';
import { deferred, scripted, settled, unhandled } from '../../../../test/support/service.ts';
import { hello, opened, served } from '../../../../test/support/wire.ts';
import type { Exchange, Service } from '../../../core/exchange.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import { streamTransport } from '../../../transport/stdio/stream.ts';
import { serve } from '../../serve.ts';

const errorFor = (id: unknown, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: expect.stringContaining(message) },
});

test.each([
  ['2024-11-05', '2024-11-05'],
  ['2025-03-26', '2025-03-26'],
  ['2025-06-18', '2025-06-18'],
  ['2025-11-25', '2025-11-25'],
  // An unknown revision, or one without a handshake, is answered with the newest one that has a handshake.
  ['2026-07-28', '2025-11-25'],
  ['2099-01-01', '2025-11-25'],
  ['', '2025-11-25'],
  ['__proto__', '2025-11-25'],
])('a client that asks for %j gets %s', async (requested, got) => {
  const { client } = await served(scripted({}, { tools: {} }).service);
  expect(await client.request(1, 'initialize', hello(requested))).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: { protocolVersion: got, capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } },
  });
});

test('instructions are passed on, and fields of newer revisions are not', async () => {
  const { service } = scripted({
    'server/discover': () => ({
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
      supportedVersions: ['2026-07-28'],
      capabilities: {},
      instructions: 'Be kind.',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '2' } },
    }),
    work: () => ({
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      value: 1,
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '2' }, mine: true },
    }),
  });
  const { client } = await served(service);
  expect((await client.request(1, 'initialize', hello())).result).toEqual({
    protocolVersion: '2025-11-25',
    capabilities: {},
    serverInfo: { name: 's', version: '2' },
    instructions: 'Be kind.',
  });
  expect((await client.request(2, 'work')).result).toEqual({ value: 1, _meta: { mine: true } });
});

test.each([
  ['no params', undefined],
  ['no revision', { capabilities: {}, clientInfo: { name: 'a', version: '1' } }],
  ['a revision that is a number', hello(20251125)],
  ['capabilities that are a list', hello('2025-11-25', [])],
  ['no client info', { protocolVersion: '2025-11-25', capabilities: {} }],
  ['a client without a name', { ...hello(), clientInfo: { version: '1' } }],
])('initialize with %s gets −32602, and may be repeated', async (_, params) => {
  const { client } = await served(scripted().service);
  expect(await client.request(1, 'initialize', params)).toEqual(errorFor(1, -32602, 'initialize needs'));
  expect(await client.request(1, 'initialize', hello())).toMatchObject({ id: 1, result: {} });
});

test('a request before initialize is refused, and a notification is ignored and reported', async () => {
  const { service, seen } = scripted();
  const { client, errors } = await served(service);
  expect(await client.request(1, 'tools/list')).toEqual(errorFor(1, -32600, 'before initialize'));
  await client.send({ method: 'notifications/initialized\u001b' });
  expect(client.take()).toEqual([]);
  expect(errors.map(String)).toEqual([
    expect.stringContaining('notifications/initialized\\u001b came before initialize'),
  ]);
  expect(seen).toEqual([]);
});

test('ping is answered in every phase', async () => {
  const ready = deferred();
  const { service } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const { client } = await served(service);
  expect(await client.request(1, 'ping')).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  await client.send({ id: 2, method: 'initialize', params: hello() });
  expect(await client.request(3, 'ping')).toEqual({ jsonrpc: '2.0', id: 3, result: {} });
  ready.resolve();
  await settled();
  client.take();
  expect(await client.request(4, 'ping')).toEqual({ jsonrpc: '2.0', id: 4, result: {} });
});

test('messages sent right after initialize are handled in order after its response', async () => {
  const ready = deferred();
  const { service, seen } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const { client } = await served(service);
  await client.send(
    { id: 1, method: 'initialize', params: hello() },
    { method: 'notifications/initialized' },
    { id: 2, method: 'echo', params: { n: 2 } },
    { id: 3, method: 'echo', params: { n: 3 } },
  );
  expect(client.take()).toEqual([]);
  ready.resolve();
  await settled();
  expect(client.take().map((message) => 'id' in message && message.id)).toEqual([1, 2, 3]);
  expect(seen.map(({ method }) => method)).toEqual(['server/discover', 'subscriptions/listen', 'echo', 'echo']);
});

test('a second initialize is refused, before and after the response to the first', async () => {
  const ready = deferred();
  const { service } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const { client } = await served(service);
  await client.send({ id: 1, method: 'initialize', params: hello() }, { id: 2, method: 'initialize', params: hello() });
  ready.resolve();
  await settled();
  expect(client.take()).toEqual([
    expect.objectContaining({ id: 1, result: expect.anything() }),
    errorFor(2, -32600, 'already'),
  ]);
  expect(await client.request(3, 'initialize', hello())).toEqual(errorFor(3, -32600, 'already'));
});

test('after a service fails at initialize, the next initialize calls it again', async () => {
  let attempts = 0;
  const { service } = scripted({
    'server/discover': () => {
      attempts += 1;
      if (attempts === 1) throw new Error('not yet');
      return { capabilities: {} };
    },
  });
  const { client } = await served(service);
  expect(await client.request(1, 'initialize', hello())).toEqual(errorFor(1, -32603, 'not yet'));
  expect(await client.request(2, 'echo')).toEqual(errorFor(2, -32600, 'before initialize'));
  expect(await client.request(3, 'initialize', hello())).toMatchObject({
    id: 3,
    result: { protocolVersion: '2025-11-25' },
  });
});

test('initialize cannot be cancelled', async () => {
  const ready = deferred();
  const { service, seen } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const { client } = await served(service);
  await client.send(
    { id: 1, method: 'initialize', params: hello() },
    { method: 'notifications/cancelled', params: { requestId: 1 } },
  );
  ready.resolve();
  await settled();
  expect(client.next()).toMatchObject({ id: 1, result: {} });
  expect(seen[0]!.signal.aborted).toBe(false);
});

test('every other request can be cancelled, with any method', async () => {
  const { client } = await opened(scripted().service);
  void client.transport.send({ jsonrpc: '2.0', id: 1, method: 'server/discover' });
  await client.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
  expect(client.take()).toEqual([]);
});

test('exchanges have a caller', async () => {
  const { service, seen } = scripted();
  const { client } = await opened(service, { revision: '2025-06-18', capabilities: { roots: {} } });
  await client.request(1, 'echo');
  const { caller } = seen.at(-1)!;
  expect(caller).toMatchObject({
    revision: '2025-06-18',
    clientInfo: { name: 'test', version: '1' },
    capabilities: { roots: {} },
    logLevel: undefined,
  });
  expect(caller.session!.signal.aborted).toBe(false);
  await client.transport.close();
  await settled();
  expect(caller.session!.signal.aborted).toBe(true);
  expect(seen.at(-1)!.caller.session!.id).toBe(caller.session!.id);
});

test('methods of other revisions do not exist', async () => {
  const { client } = await opened(scripted().service);
  expect(await client.request(1, 'server/discover')).toEqual(errorFor(1, -32601, 'server/discover'));
  expect(await client.request(2, 'subscriptions/listen')).toEqual(errorFor(2, -32601, 'subscriptions/listen'));
});

test('a request with the name of a notification does not reach the service, nor a notification with the name of a request', async () => {
  const { service, seen } = scripted();
  const { client, errors } = await opened(service);
  const before = seen.length;
  expect(await client.request(1, 'notifications/initialized')).toEqual(errorFor(1, -32600, 'must not carry an id'));
  await client.send({ method: 'tools/list' });
  expect(client.take()).toEqual([]);
  expect(seen.length).toBe(before);
  expect(errors.map(String)).toContainEqual(expect.stringContaining('"tools/list" was ignored'));
});

test('unknown methods and notifications are passed on', async () => {
  const { service, seen } = scripted({
    'vendor/odd': ({ params }) => ({ got: params }),
    'notifications/vendor': () => ({}),
  });
  const { client } = await opened(service);
  expect((await client.request(1, 'vendor/odd', { a: [1] })).result).toEqual({ got: { a: [1] } });
  await client.send({ method: 'notifications/vendor', params: { b: 2 } });
  expect(seen.at(-1)).toMatchObject({ method: 'notifications/vendor', params: { b: 2 } });
});

test('a request with an id in flight is refused without an id, and the first is answered', async () => {
  const answer = deferred();
  const { service } = scripted({ work: () => answer.promise.then(() => ({ first: true })) });
  const { client } = await opened(service);
  await client.send({ id: 1, method: 'work' }, { id: 1, method: 'echo' });
  const refusal = client.next();
  expect(refusal.error.code).toBe(-32600);
  expect('id' in refusal).toBe(false);
  answer.resolve();
  await settled();
  expect(client.take()).toEqual([{ jsonrpc: '2.0', id: 1, result: { first: true } }]);
  expect(await client.request(1, 'echo')).toMatchObject({ id: 1 });
});

test('a response without a pending request is reported', async () => {
  const { client, errors } = await opened(scripted().service);
  await client.send({ id: 99, result: {} });
  expect(errors.map(String)).toContainEqual(expect.stringContaining('A response came for 99'));
});

test.each([undefined, null])('a service that returns %j fails only that request', async (result) => {
  const { service } = scripted({ odd: () => result as never });
  const { client } = await opened(service);
  expect(await client.request(1, 'odd')).toMatchObject({ id: 1, error: { code: -32603 } });
  expect(await client.request(2, 'echo')).toMatchObject({ id: 2, result: {} });
});

test('a service in plain JavaScript may return a value without a promise, and throw synchronously', async () => {
  const { service } = scripted();
  const rejections = unhandled();
  const { client, errors } = await opened(((exchange: Exchange) => {
    if (exchange.method === 'plain') return { plain: true };
    if (exchange.method === 'nothing') return undefined;
    if (exchange.method === 'echo' || exchange.method === 'server/discover') return service(exchange);
    throw new Error(`${exchange.method} thrown`);
  }) as Service);
  expect(await client.request(1, 'plain')).toMatchObject({ result: { plain: true } });
  expect(await client.request(2, 'nothing')).toEqual(errorFor(2, -32603, ''));
  expect(await client.request(3, 'work')).toEqual(errorFor(3, -32603, 'work thrown'));
  await client.send({ method: 'notifications/vendor' });
  expect(await client.request(4, 'echo')).toMatchObject({ result: {} });
  expect(await rejections()).toEqual([]);
  expect(errors.map(({ message }) => message)).toEqual(['subscriptions/listen thrown', 'notifications/vendor thrown']);
});

test('a service in plain JavaScript may return nothing for a notification', async () => {
  const { service } = scripted();
  const silent = (exchange: Exchange): unknown =>
    exchange.method.startsWith('notifications/') ? undefined : service(exchange);
  const { client, errors } = await opened(silent as Service);
  await client.send({ method: 'notifications/vendor' });
  expect(errors).toEqual([]);
});

test('messages that wait for initialize keep their sender', async () => {
  const attempts = [deferred(), deferred()];
  const { service, seen } = scripted({
    'server/discover': () => attempts[seen.length - 1]!.promise.then(() => ({ capabilities: {} })),
  });
  const [near, far] = memoryTransportPair();
  onTestFinished(() => near.close());
  await near.start();
  await serve(service, far);
  const initialize = (id: number) => ({ jsonrpc: '2.0', id, method: 'initialize', params: hello() });
  far.onmessage!(initialize(1), { principal: 'ann', address: '192.0.2.1' });
  far.onmessage!(initialize(2), { principal: 'ann', address: '192.0.2.1' });
  attempts[0]!.reject(new Error('not yet'));
  await settled();
  expect(seen).toHaveLength(2);
  expect(seen[1]!.caller.principal).toBe('ann');
  expect(seen[1]!.caller.address).toBe('192.0.2.1');
});

test('messages before the response to initialize are limited', async () => {
  const ready = deferred();
  const { service } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const { client, errors } = await served(service);
  await client.send({ id: 'i', method: 'initialize', params: hello() });
  await client.send(...Array.from({ length: 100 }, (_, id) => ({ id, method: 'echo' })));
  await client.send({ id: 'more', method: 'echo' }, { method: 'notifications/more' });
  expect(client.take()).toEqual([errorFor('more', -32600, 'Too many requests')]);
  expect(errors.map(String)).toEqual([expect.stringContaining('notifications/more was dropped')]);
  ready.resolve();
  await settled();
  expect(client.take()).toHaveLength(101);
});

test('unanswered requests are limited', async () => {
  const gate = deferred<Record<string, unknown>>();
  const { client } = await opened(scripted({ wait: () => gate.promise }).service);
  await client.send(...Array.from({ length: 10_000 }, (_, n) => ({ id: `w${n}`, method: 'wait' })));
  expect(client.take()).toEqual([]);
  expect(await client.request('more', 'wait')).toEqual(
    errorFor('more', -32600, 'More than 10000 requests are in flight'),
  );
  gate.resolve({});
  await settled();
  expect(client.take()).toHaveLength(10_000);
  expect(await client.request('again', 'wait')).toHaveProperty('result');
});

test("the size of a client's information about itself is limited", async () => {
  const { client } = await served(scripted().service);
  const large = hello('2025-11-25', { experimental: { filler: 'x'.repeat(70_000) } });
  expect(await client.request(1, 'initialize', large)).toEqual(errorFor(1, -32602, 'larger than 32768'));
  const deep = hello('2025-11-25', { experimental: JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`) });
  expect(await client.request(2, 'initialize', deep)).toEqual(errorFor(2, -32602, 'larger than 32768'));
  // Its text is short, but each empty object takes about 100 bytes of memory.
  const many = hello('2025-11-25', {
    experimental: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`a${index}`, {}])),
  });
  expect(await client.request(3, 'initialize', many)).toEqual(errorFor(3, -32602, 'larger than 32768'));
  expect(await client.request(4, 'initialize', hello())).toHaveProperty('result');
});

test('a handler that only awaits its notifications does not block others', async () => {
  let turns = 0;
  const { service } = scripted({
    spin: async (exchange) => {
      while (!exchange.signal.aborted) {
        turns += 1;
        await exchange.notify('notifications/message', { level: 'debug', data: turns });
      }
      return {};
    },
  });
  const { client } = await opened(service);
  client.transport.onmessage = () => {};
  void client.send({ id: 1, method: 'spin' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await client.transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  await settled();
  const before = turns;
  expect(before).toBeGreaterThan(100);
  await settled();
  expect(turns).toBe(before);
});

test.each([
  ['2025-03-26', [{ jsonrpc: '2.0', id: 2, result: {} }]],
  ['2025-06-18', { jsonrpc: '2.0', error: { code: -32600, message: expect.stringContaining('batch') } }],
])('the transport gets the revision: a batch in a session of %s', async (revision, answer) => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  await serve(scripted().service, streamTransport(input, output));
  const lines = linesOf(output);
  const exchanged = async (message: unknown): Promise<unknown> => {
    input.write(`${JSON.stringify(message)}\n`);
    return JSON.parse((await lines.next()).value as string);
  };
  await exchanged({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello(revision) });
  expect(await exchanged([{ jsonrpc: '2.0', id: 2, method: 'ping' }])).toEqual(answer);
  input.end();
});
