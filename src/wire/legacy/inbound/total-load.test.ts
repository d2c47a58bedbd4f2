import { expect, test } from 'vitest';
import { deferred, listening, scripted, settled } from '../../../../test/support/service.ts';
import { hello, Peer } from '../../../../test/support/wire.ts';
import type { JsonObject, Message } from '../../../jsonrpc/message.ts';
import { memoryTransportPair } from '../../../transport/memory.ts';
import type { Transport } from '../../../transport/transport.ts';
import { createInbound } from '../../serve.ts';

const MB = 1024 * 1024;

/** A service whose tool waits for the test, and a function that opens sessions. */
function setUp() {
  const gate = deferred();
  const { service } = scripted({
    work: () => gate.promise.then(() => ({})),
    ask: (exchange) => exchange.ask('roots/list', {}).then(() => gate.promise.then(() => ({}))),
    'ask in passing': (exchange) => {
      exchange.ask('roots/list', {}).catch(() => {});
      return {};
    },
    'ask for others': (exchange) => {
      exchange.ask('roots/list', {}, { outlivesRequest: true }).catch(() => {});
      return {};
    },
  });
  const inbound = createInbound(service);
  const open = async () => {
    const sent: JsonObject[] = [];
    const transport: Transport = {
      start: () => Promise.resolve(),
      send: async (message) => void sent.push(message),
      close: async () => transport.onclose?.(),
    };
    await inbound.onsession!(transport);
    const receive = (message: Message, bytes: number): void => transport.onmessage!(message, { bytes });
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo };
    receive({ jsonrpc: '2.0', id: 'initialize', method: 'initialize', params }, 200);
    receive({ jsonrpc: '2.0', method: 'notifications/initialized' }, 100);
    await settled();
    /** The responses to a call so far. */
    const call = async (id: number, bytes: number, method = 'work'): Promise<JsonObject | undefined> => {
      receive({ jsonrpc: '2.0', id, method }, bytes);
      await settled();
      return sent.find((message) => message['id'] === id && !('method' in message));
    };
    /**
     * Answers the newest question.
     *
     * @param cancelled the request that is cancelled right before
     */
    const answer = async (bytes: number, cancelled?: number): Promise<void> => {
      const { id } = sent.findLast(({ method }) => method === 'roots/list')!;
      if (cancelled !== undefined) {
        receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: cancelled } }, 100);
      }
      receive({ jsonrpc: '2.0', id, result: { roots: [] } }, bytes);
      await settled();
    };
    return { call, answer, close: () => transport.close() };
  };
  return { open, gate };
}

const refused = { error: { code: -32600, message: expect.stringContaining('of all clients') } };

test('all sessions together have a limit on the bytes of their requests, until they are answered', async () => {
  const { open, gate } = setUp();
  for (let session = 0; session < 4; session += 1) expect(await (await open()).call(1, 60 * MB)).toBeUndefined();
  const late = await open();
  expect(await late.call(1, 20 * MB)).toMatchObject(refused);
  // Every session sends a little.
  expect(await late.call(2, 1000)).toBeUndefined();
  gate.resolve();
  await settled();
  expect(await late.call(3, 20 * MB)).toMatchObject({ result: {} });
});

test('a small request counts for what it takes in memory, which is more than its message', async () => {
  const { open, gate } = setUp();
  for (let session = 0; session < 4; session += 1) await (await open()).call(1, 60 * MB);
  await (await open()).call(1, 15.9 * MB);
  const late = await open();
  const answers = [];
  for (let id = 1; id <= 40; id += 1) answers.push(await late.call(id, 100));
  expect(answers[0]).toBeUndefined();
  expect(answers.at(-1)).toMatchObject(refused);
  gate.resolve();
  await settled();
  for (let id = 41; id <= 80; id += 1) expect(await late.call(id, 100)).toMatchObject({ result: {} });
});

test('messages that wait for initialize also count, until they are handled or the session ends', async () => {
  const ready = deferred();
  const { service } = scripted({ 'server/discover': () => ready.promise.then(() => ({ capabilities: {} })) });
  const inbound = createInbound(service);
  const opening = async () => {
    const sent: JsonObject[] = [];
    const transport: Transport = {
      start: () => Promise.resolve(),
      send: async (message) => void sent.push(message),
      close: async () => transport.onclose?.(),
    };
    await inbound.onsession!(transport);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    transport.onmessage!({ jsonrpc: '2.0', id: 'initialize', method: 'initialize', params }, { bytes: 200 });
    const call = (id: number): JsonObject | undefined => {
      transport.onmessage!({ jsonrpc: '2.0', id, method: 'echo' }, { bytes: 15 * MB });
      return sent.find((message) => message['id'] === id);
    };
    return { call, sent, transport };
  };
  const sessions = [];
  for (let session = 0; session < 17; session += 1) sessions.push(await opening());
  for (const { call } of sessions) expect(call(1)).toBeUndefined();
  const late = await opening();
  expect(late.call(1)).toMatchObject({ error: { code: -32600 } });
  await sessions[0]!.transport.close();
  expect(late.call(2)).toBeUndefined();
  ready.resolve();
  await settled();
  expect(late.sent.find(({ id }) => id === 2)).toHaveProperty('result');
  expect((await opening()).call(3)).toBeUndefined();
});

test('a session that ends makes room', async () => {
  const { open } = setUp();
  const sessions = await Promise.all([open(), open(), open(), open()]);
  for (const { call } of sessions) await call(1, 60 * MB);
  const late = await open();
  expect(await late.call(1, 20 * MB)).toMatchObject(refused);
  await sessions[0].close();
  expect(await late.call(2, 20 * MB)).toBeUndefined();
});

test('answers count with the request that asked, and an answer above the limit fails its question', async () => {
  const { open, gate } = setUp();
  const { call, answer } = await open();
  await call(1, 1000, 'ask');
  await answer(60 * MB);
  expect(await call(2, 20 * MB)).toMatchObject({ error: { message: expect.stringContaining('bytes of requests') } });
  await call(3, 1000, 'ask');
  await answer(20 * MB);
  expect(await call(3, 1000)).toMatchObject({ error: { code: -32603, message: expect.stringContaining('dropped') } });
  gate.resolve();
  await settled();
  expect(await call(4, 60 * MB)).toMatchObject({ result: {} });
});

test('an answer right after the cancellation of its request uses no memory', async () => {
  const { open } = setUp();
  const { call, answer } = await open();
  await call(1, 1000, 'ask');
  await answer(60 * MB, 1);
  expect(await call(2, 60 * MB)).toBeUndefined();
});

test('an answer to a request that has ended uses no memory', async () => {
  const { open } = setUp();
  const { call, answer } = await open();
  expect(await call(1, 1000, 'ask in passing')).toMatchObject({ result: {} });
  await answer(60 * MB);
  expect(await call(2, 60 * MB)).toBeUndefined();
});

test('a request counts after its end while a question that outlives it is open', async () => {
  const { open } = setUp();
  const { call, answer } = await open();
  expect(await call(1, 40 * MB, 'ask for others')).toMatchObject({ result: {} });
  expect(await call(2, 40 * MB)).toMatchObject({ error: { message: expect.stringContaining('bytes of requests') } });
  await answer(100);
  expect(await call(3, 40 * MB)).toBeUndefined();
});

test('all sessions together have a limit on subscriptions, until they unsubscribe or end', async () => {
  const { service } = scripted({ 'subscriptions/listen': listening([]) }, { resources: { subscribe: true } });
  const inbound = createInbound(service);
  const open = async (): Promise<Peer> => {
    const [near, far] = memoryTransportPair();
    await inbound.onsession!(far);
    const client = new Peer(near);
    await near.start();
    await client.request('initialize', 'initialize', hello());
    return client;
  };
  const params = (id: number): JsonObject => ({ uri: `x://${id}/`.padEnd(8000, 'a') });
  const subscribe = (client: Peer, id: number): Promise<JsonObject> =>
    client.request(id, 'resources/subscribe', params(id));
  const many = Array.from({ length: 990 }, (_, id) => ({ id, method: 'resources/subscribe', params: params(id) }));
  const sessions: Peer[] = [];
  for (let session = 0; session < 25; session += 1) {
    const client = await open();
    sessions.push(client);
    await client.send(...many);
  }
  const message = 'All clients together have too many subscriptions; try again later';
  expect(sessions[0]!.take().filter((answer) => 'error' in answer)).toEqual([]);
  expect(sessions.at(-1)!.take()).toContainEqual(expect.objectContaining({ error: { code: -32600, message } }));
  const late = await open();
  // Every session subscribes to a little.
  expect(await subscribe(late, 1)).toHaveProperty('result');
  expect(await subscribe(late, 2)).toMatchObject({ error: { code: -32600, message } });
  for (let id = 1; id <= 100; id += 1) await sessions[0]!.request(id, 'resources/unsubscribe', params(id));
  expect(await subscribe(late, 2)).toHaveProperty('result');
  await sessions[1]!.transport.close();
  for (let id = 3; id <= 100; id += 1) expect(await subscribe(late, id)).toHaveProperty('result');
});
