import { expect, test, vi } from 'vitest';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import { deferred, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import { Method } from '../../../../protocol/methods.ts';
import { memoryBus } from '../../../../store/memory-bus.ts';
import { memoryState } from '../../../../store/state.ts';

/** What a client changes in its session at one process has effect at all of them. */

function nodes(...names: readonly string[]) {
  const state = memoryState();
  const busOf = memoryBus();
  const isAlive = (): Promise<boolean> => Promise.resolve(true);
  const started = names.map((node) => {
    const listeners: Exchange[] = [];
    const { service } = scripted({
      [Method.Discover]: () => ({
        capabilities: { logging: {}, resources: { subscribe: true } },
        serverInfo: { name: 'server', version: '1' },
      }),
      [Method.Listen]: listening(listeners),
      where: () => ({ node }),
    });
    const bus = busOf(node);
    const http = new TestHttp(service, { state: { ...state, node, isAlive, bus }, grace: 0 });
    const subscribed = (): string[] =>
      listeners.flatMap(({ params }) => (params['notifications'].resourceSubscriptions ?? []) as string[]).toSorted();
    return { http, bus, listeners, subscribed };
  });
  return { state, started: started as [Node, Node, ...Node[]] };
}

interface Node {
  readonly http: TestHttp;
  readonly bus: ReturnType<ReturnType<typeof memoryBus>>;
  readonly listeners: Exchange[];
  /** The resources that the service here is subscribed to. */
  readonly subscribed: () => string[];
}

const at = ({ http }: Node, { id }: TestSession): TestSession => new TestSession(http, id, '2025-11-25');

async function answer(response: Promise<Response>): Promise<any> {
  const got = await response;
  return got.headers.get('content-type') === 'text/event-stream' ? new Events(got).message() : got.json();
}

const subscribe = (session: TestSession, uri: string): Promise<any> =>
  answer(session.call(`+${uri}`, 'resources/subscribe', { uri }));
const unsubscribe = (session: TestSession, uri: string): Promise<any> =>
  answer(session.call(`-${uri}`, 'resources/unsubscribe', { uri }));

test('a subscription that is made at one process is made at all that have the session', async () => {
  const { started } = nodes('a', 'b', 'c');
  const [a, b, c] = started as [Node, Node, Node];
  const session = await a.http.open();
  const own = await session.events();
  expect(await subscribe(at(b, session), 'a://1')).toMatchObject({ result: {} });
  await subscribe(session, 'a://2');
  await answer(at(c, session).call(1, 'where'));
  await settled();
  for (const { subscribed } of started) expect(subscribed()).toEqual(['a://1', 'a://2']);
  const listener = a.listeners.find(({ params }) => params['notifications'].resourceSubscriptions?.[0] === 'a://1')!;
  await listener.notify('notifications/resources/updated', { uri: 'a://1' });
  expect(await own.message()).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'a://1' } });
  expect(await unsubscribe(at(c, session), 'a://1')).toMatchObject({ result: {} });
  await settled();
  for (const { subscribed } of started) expect(subscribed()).toEqual(['a://2']);
});

test('many subscriptions at once are told together, and in order', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  const other = at(b, session);
  await answer(other.call(1, 'where'));
  const gate = deferred();
  const { sendToAll } = b.bus;
  const send = vi
    .spyOn(b.bus, 'sendToAll')
    .mockImplementation((...args) => gate.promise.then(() => sendToAll(...args)));
  const uris = Array.from({ length: 300 }, (_, n) => `a://${String(n).padStart(3, '0')}`);
  const changes = uris.flatMap((uri) => [subscribe(other, uri), unsubscribe(other, uri), subscribe(other, `${uri}/`)]);
  // The service has all of them, and the first ones are being told.
  await expect.poll(() => b.subscribed().length).toBe(300);
  gate.resolve();
  for (const each of await Promise.all(changes)) expect(each).toMatchObject({ result: {} });
  await settled();
  expect(a.subscribed()).toEqual(uris.map((uri) => `${uri}/`));
  expect(send.mock.calls.length).toBeLessThan(10);
});

test('a subscription that other processes could not be told is an error', async () => {
  const { started } = nodes('a', 'b');
  const [a] = started;
  const session = await a.http.open();
  vi.spyOn(a.bus, 'sendToAll').mockRejectedValueOnce(new Error('unreachable'));
  const { error } = await subscribe(session, 'a://1');
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('could not be told') });
  expect(await subscribe(session, 'a://1')).toMatchObject({ result: {} });
});

test('a request that the service has refused changes nothing elsewhere', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  const other = at(b, session);
  await answer(other.call(1, 'where'));
  const send = vi.spyOn(b.bus, 'sendToAll');
  expect(await answer(other.call(2, 'resources/subscribe', { uri: 7 }))).toMatchObject({ error: { code: -32602 } });
  expect(send).not.toHaveBeenCalled();
});

test('what is no change of settings is ignored', async () => {
  const { state, started } = nodes('a', 'b');
  const [a, b] = started;
  const put = vi.spyOn(state.sessions, 'put');
  await a.http.open();
  const session = put.mock.calls[0]![0];
  for (const changes of [
    7,
    [null, 7, { method: 'tools/call', params: {} }, { method: Method.Subscribe, params: null }],
  ])
    await b.bus.sendToAll('settings', { session, changes });
  await b.bus.sendToAll('settings', {
    session,
    principal: 'eve',
    changes: [{ method: Method.Subscribe, params: { uri: 'a://1' } }],
  });
  await settled();
  expect(a.subscribed()).toEqual([]);
  expect(a.http.errors).toEqual([]);
});
