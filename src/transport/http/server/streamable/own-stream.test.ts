import { expect, test, vi } from 'vitest';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import { deferred, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import { Method } from '../../../../protocol/methods.ts';
import { NotTaken, OtherStateKey, type Bus } from '../../../../store/bus.ts';
import { memoryBus } from '../../../../store/memory-bus.ts';
import { memoryState } from '../../../../store/state.ts';
import type { HttpHandlerOptions } from '../handler.ts';
import { SessionStoreFull } from '../../../../store/session-store.ts';
import { storedIdOf } from './stored-session.ts';

/** A session's own stream, if several processes send messages outside of calls, and its client reads it at one of them. */

interface Node {
  readonly http: TestHttp;
  readonly bus: Bus;
  /** The session's own exchange at this process, which sends outside of calls. */
  readonly own: () => Exchange;
  /** What the client has notified this process of. */
  readonly notices: string[];
}

function nodes(names: readonly string[], options: Partial<HttpHandlerOptions> = {}) {
  const state = memoryState();
  const alive = new Set(names);
  const isAlive = (node: string): Promise<boolean> => Promise.resolve(alive.has(node));
  const busOf = memoryBus((node) => alive.has(node));
  const started = names.map((node): Node => {
    const listeners: Exchange[] = [];
    const notices: string[] = [];
    const { service } = scripted({
      [Method.Discover]: () => ({
        capabilities: { logging: {}, tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } },
        serverInfo: { name: 'server', version: '1' },
      }),
      [Method.Listen]: listening(listeners),
      where: () => ({ node }),
      'notifications/roots/list_changed': ({ method }) => {
        notices.push(method);
        return {};
      },
    });
    const bus = busOf(node);
    const http = new TestHttp(service, { state: { ...state, node, isAlive, bus }, grace: 0, ...options });
    const own = (): Exchange => listeners.find(({ params }) => params['notifications'].toolsListChanged === true)!;
    return { http, bus, own, notices };
  });
  return { state, alive, started: started as [Node, Node, ...Node[]] };
}

const at = ({ http }: Node, { id }: TestSession): TestSession => new TestSession(http, id, '2025-11-25');

async function answer(response: Promise<Response>): Promise<any> {
  const got = await response;
  return got.headers.get('content-type') === 'text/event-stream' ? new Events(got).message() : got.json();
}

/** Makes the session known to a process. */
const enter = (node: Node, session: TestSession): Promise<unknown> => answer(at(node, session).call('enter', 'where'));

const log = (node: Node, data: unknown): Promise<void> =>
  node.own().notify('notifications/message', { level: 'error', data });

/** What the next messages say: the data of log messages, and the methods of others. */
async function next(events: Events, count: number): Promise<unknown[]> {
  const messages: unknown[] = [];
  for (let n = 0; n < count; n += 1) {
    const { method, params } = await events.message();
    messages.push(method === 'notifications/message' ? params.data : method);
  }
  return messages;
}

/** The id of the next event with this data. */
async function idOf(events: Events, data: unknown): Promise<string> {
  for (;;) {
    const event = await events.next();
    if (event?.data && JSON.parse(event.data).params.data === data) return event.id!;
  }
}

test('the first GET may reach another process than the one that opened the session', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  await enter(b, session);
  const events = await at(b, session).events();
  await log(a, 'one');
  expect(await next(events, 1)).toEqual(['one']);
});

test('the process where the client reads the stream hears of changes, even if another one was told that the client is ready', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open('2025-11-25', {}, false);
  await at(b, session).notify('notifications/initialized');
  const events = await session.events();
  await log(a, 'one');
  expect(await next(events, 1)).toEqual(['one']);
});

test('messages of all processes reach the client where it reads the stream, in order', async () => {
  const { started } = nodes(['a', 'b', 'c']);
  const [a, b, c] = started as [Node, Node, Node];
  const session = await a.http.open();
  const events = await session.events();
  await enter(b, session);
  await enter(c, session);
  const sent: string[] = [];
  for (let n = 0; n < 30; n += 1) {
    await log([a, b, c][n % 3]!, `message ${n}`);
    sent.push(`message ${n}`);
  }
  expect(await next(events, 30)).toEqual(sent);
});

test('what is sent before the client reads the stream comes first, wherever it does', async () => {
  for (const reader of [0, 1, 2]) {
    const { started } = nodes(['a', 'b', 'c']);
    const session = await started[0].http.open();
    await enter(started[1], session);
    await log(started[1], 'one');
    await log(started[0], 'two');
    expect(await next(await at(started[reader]!, session).events(), 2)).toEqual(['one', 'two']);
  }
});

test('the stream goes on at another process after the last event, without gap or duplicate', async () => {
  const { started } = nodes(['a', 'b', 'c']);
  const [a, b, c] = started as [Node, Node, Node];
  const session = await a.http.open();
  const first = await session.events();
  await enter(b, session);
  await log(a, 'one');
  await log(b, 'two');
  await log(b, 'three');
  const last = await idOf(first, 'two');
  await first.cancel();
  await log(a, 'four');
  const second = await at(c, session).events(last);
  await log(a, 'five');
  await log(b, 'six');
  await log(c, 'seven');
  expect(await next(second, 5)).toEqual(['three', 'four', 'five', 'six', 'seven']);
  const third = await at(a, session).events(await idOf(await at(c, session).events(last), 'seven'));
  await log(c, 'eight');
  expect(await next(third, 1)).toEqual(['eight']);
});

test('a client that names no event gets what it has not got at the process before, which stops', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  const former = await session.events();
  await log(a, 'one');
  await next(former, 1);
  const events = await at(b, session).events();
  expect((await former.rest()).filter(({ data }) => data)).toEqual([]);
  await log(a, 'two');
  expect(await next(events, 1)).toEqual(['two']);
  expect([a, b].map(({ http }) => [http.handler.revived, http.handler.takenOver])).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test('a question outside of calls reaches the client at another process, and the answer the one that asked', async () => {
  const { started } = nodes(['a', 'b', 'c']);
  const [a, b, c] = started as [Node, Node, Node];
  const session = await a.http.open('2025-11-25', { roots: {} });
  const events = await session.events();
  await enter(b, session);
  const asked = b.own().ask('roots/list', {});
  const { id, method } = await events.message();
  expect(method).toBe('roots/list');
  const roots = [{ uri: 'file:///a' }];
  expect((await at(c, session).post({ jsonrpc: '2.0', id, result: { roots } })).status).toBe(202);
  expect(await asked).toMatchObject({ roots });
});

test('a change that all processes hear of reaches the client once', async () => {
  const { started } = nodes(['a', 'b'], { sharesChanges: true });
  const [a, b] = started;
  const session = await a.http.open();
  const events = await session.events();
  await enter(b, session);
  for (const node of [b, a]) await node.own().notify('notifications/tools/list_changed');
  await log(b, 'end');
  expect(await next(events, 2)).toEqual(['notifications/tools/list_changed', 'end']);
  const later = await at(b, session).events();
  for (const node of [b, a]) await node.own().notify('notifications/tools/list_changed');
  await log(a, 'end');
  expect(await next(later, 2)).toEqual(['notifications/tools/list_changed', 'end']);
});

test('a change that only one process hears of reaches the client, too', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  const events = await session.events();
  await enter(b, session);
  await b.own().notify('notifications/tools/list_changed');
  expect(await next(events, 1)).toEqual(['notifications/tools/list_changed']);
});

test('a process that comes to know a session says nothing, because the client misses nothing', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  const events = await session.events();
  await answer(session.call(1, 'resources/subscribe', { uri: 'a://1' }));
  await enter(b, session);
  await log(a, 'end');
  expect(await next(events, 1)).toEqual(['end']);
});

test('if the process with the stream is gone, the next one says that all may have changed, and nothing is lost', async () => {
  const { started, alive } = nodes(['a', 'b'], { sharesChanges: true });
  const [a, b] = started;
  const session = await a.http.open();
  const former = await session.events();
  await answer(session.call(1, 'resources/subscribe', { uri: 'a://1' }));
  await log(a, 'one');
  const last = await idOf(former, 'one');
  await enter(b, session);
  alive.delete('a');
  await log(b, 'two');
  const events = await at(b, session).events(last);
  const all = ['notifications/tools/list_changed', 'notifications/resources/updated'];
  expect(await next(events, 3)).toEqual(['two', ...all]);
  await b.own().notify('notifications/tools/list_changed');
  expect(await next(events, 1)).toEqual(['notifications/tools/list_changed']);
});

/** A session whose stream is read at one process, up to its first event, and that another one knows. */
async function readAtFirst() {
  const { started } = nodes(['a', 'b'], { sharesChanges: true });
  const [a, b] = started;
  const session = await a.http.open();
  const former = await session.events();
  await log(a, 'one');
  const last = await idOf(former, 'one');
  await enter(b, session);
  return { a, b, session, former, last };
}

test('a process that could not be told that it is no longer the reader learns it later', async () => {
  const { a, b, session, former, last } = await readAtFirst();
  vi.spyOn(b.bus, 'call').mockRejectedValue(new NotTaken('suspended'));
  const events = await at(b, session).events(last);
  expect(await next(events, 1)).toEqual(['notifications/tools/list_changed']);
  await former.rest();
  await a.own().notify('notifications/tools/list_changed');
  await log(a, 'two');
  expect(await next(events, 1)).toEqual(['two']);
});

test('a second GET, which comes while the stream moves to its process, gets each event once', async () => {
  const { b, session, last } = await readAtFirst();
  const gate = deferred();
  const moving = vi.spyOn(b.bus, 'call').mockImplementation(async () => {
    await gate.promise;
    throw new NotTaken('suspended');
  });
  const first = at(b, session).events(last);
  await expect.poll(() => moving.mock.calls.length).toBe(1);
  const second = at(b, session).events(last);
  await log(b, 'two');
  await settled();
  gate.resolve();
  await (await first).cancel();
  const events = await second;
  await log(b, 'three');
  expect(await next(events, 3)).toEqual(['two', 'notifications/tools/list_changed', 'three']);
});

test('an event that the reader could not be told of is told later', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  const events = await session.events();
  await enter(b, session);
  vi.spyOn(b.bus, 'send').mockRejectedValueOnce(new Error('unreachable'));
  await log(b, 'one');
  expect(await next(events, 1)).toEqual(['one']);
  expect(b.http.errors.map(({ message }) => message)).toEqual(['unreachable']);
});

test('many messages at another process make few messages on the bus', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  const events = await session.events();
  await enter(b, session);
  const gate = deferred();
  const { send } = b.bus;
  const sent = vi.spyOn(b.bus, 'send').mockImplementation((...args) => gate.promise.then(() => send(...args)));
  await Promise.all(Array.from({ length: 500 }, (_, n) => log(b, n)));
  gate.resolve();
  expect(await next(events, 500)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  expect(sent.mock.calls.length).toBeLessThan(10);
});

test('a change of the roots reaches all processes that have the session', async () => {
  const { started } = nodes(['a', 'b', 'c']);
  const [a, b, c] = started as [Node, Node, Node];
  const session = await a.http.open('2025-11-25', { roots: { listChanged: true } });
  await enter(b, session);
  expect((await at(b, session).notify('notifications/roots/list_changed')).status).toBe(202);
  await settled();
  expect([a, b, c].map(({ notices }) => notices.length)).toEqual([1, 1, 0]);
});

test('a batch tells all processes of a change of the roots, too', async () => {
  const { started } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open('2025-03-26', { roots: { listChanged: true } });
  const other = new TestSession(b.http, session.id, '2025-03-26');
  await answer(other.call('enter', 'where'));
  const batch = [{ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }];
  expect((await other.post(batch)).status).toBe(202);
  await settled();
  expect([a, b].map(({ notices }) => notices.length)).toEqual([1, 1]);
});

test('a stream whose place cannot be stored is refused for now, and the client can ask again', async () => {
  const { started, state } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  const other = at(b, session);
  await enter(b, session);
  vi.spyOn(state.sessions, 'change').mockRejectedValueOnce(new Error('unreachable'));
  const refused = await other.get();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  const events = await other.events();
  await log(a, 'one');
  expect(await next(events, 1)).toEqual(['one']);
});

/** A session that three processes know, with a subscription. Its client reads the stream at the first one. The store loses it. */
async function lostByStore() {
  const { started, state } = nodes(['a', 'b', 'c'], { sharesChanges: true });
  const [a, b, c] = started as [Node, Node, Node];
  const session = await a.http.open();
  const events = await session.events();
  for (const node of [b, c]) await enter(node, session);
  await answer(at(b, session).call(1, 'resources/subscribe', { uri: 'a://1' }));
  const id = storedIdOf(session.id);
  const lose = (): Promise<void> => state.sessions.delete(id);
  return { a, b, c, session, events, lose, stored: () => state.sessions.get(id) };
}

/** Each process hears of a change. */
async function change(...all: readonly Node[]): Promise<void> {
  for (const node of all) await node.own().notify('notifications/tools/list_changed');
}

test('after the store has lost the session, its stream moves as before, and each change comes once', async () => {
  const { a, b, c, session, events, lose, stored } = await lostByStore();
  await lose();
  let former = events;
  for (const node of [b, a, c, b]) {
    const moved = await at(node, session).events();
    expect((await former.rest()).filter(({ data }) => data)).toEqual([]);
    await change(a, b, c);
    await log(a, 'end');
    expect(await next(moved, 2)).toEqual(['notifications/tools/list_changed', 'end']);
    former = moved;
  }
  expect(await stored()).toMatchObject({ own: { reader: 'b' }, resources: ['a://1'] });
});

test('a process that does not know the last reader tells all processes that it is the reader now', async () => {
  const { a, b, c, session, events, lose } = await lostByStore();
  const atC = await at(c, session).events();
  await events.rest();
  await lose();
  // It knows that the first process was the reader.
  const atB = await at(b, session).events();
  expect((await atC.rest()).filter(({ data }) => data)).toEqual([]);
  expect(await next(atB, 2)).toEqual(['notifications/tools/list_changed', 'notifications/resources/updated']);
  await change(a, b, c);
  await log(a, 'end');
  expect(await next(atB, 2)).toEqual(['notifications/tools/list_changed', 'end']);
});

test('a GET is refused for now if a process that may be the reader could not be told', async () => {
  const { a, b, c, session, events, lose } = await lostByStore();
  const atC = await at(c, session).events();
  await events.rest();
  await lose();
  vi.spyOn(b.bus, 'sendToAll').mockRejectedValueOnce(new NotTaken('Redis may not know all processes yet'));
  const refused = await at(b, session).get();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  await change(a, b, c);
  await log(c, 'end');
  expect(await next(atC, 2)).toEqual(['notifications/tools/list_changed', 'end']);
  await at(b, session).events();
  await atC.rest();
});

test.each([
  ['has had the stream keeps it', new OtherStateKey('another key'), 503],
  ['has not had the stream does not keep it', new NotTaken('ended'), 200],
])('a process with another state key that %s', async (_, error, status) => {
  const { b, session, last } = await readAtFirst();
  vi.spyOn(b.bus, 'sendToAll').mockRejectedValue(new OtherStateKey('another key'));
  vi.spyOn(b.bus, 'call').mockRejectedValue(error);
  expect((await at(b, session).get(last)).status).toBe(status);
});

test('after the store has lost the session, a subscription puts it back, and the reader hears of events', async () => {
  const { b, session, events, lose, stored } = await lostByStore();
  await lose();
  await log(b, 'one');
  expect(await next(events, 1)).toEqual(['one']);
  expect(await answer(at(b, session).call(2, 'resources/subscribe', { uri: 'a://2' }))).toHaveProperty('result');
  expect(await stored()).toMatchObject({
    own: { reader: 'a' },
    resources: ['a://1', 'a://2'],
    initialize: { protocolVersion: '2025-11-25' },
  });
});

test('a process does not put a session back that has ended meanwhile', async () => {
  const { started, state } = nodes(['a', 'b']);
  const [a, b] = started;
  const session = await a.http.open();
  await enter(b, session);
  const gate = deferred();
  const changing = vi.spyOn(state.sessions, 'change').mockImplementation(async () => {
    await gate.promise;
    return undefined;
  });
  const events = at(b, session).get();
  await expect.poll(() => changing.mock.calls.length).toBe(1);
  expect((await session.delete()).status).toBe(204);
  await settled();
  gate.resolve();
  await events;
  expect(await state.sessions.get(storedIdOf(session.id))).toBeUndefined();
});

test('a session for which the store has no room has its own stream', async () => {
  const { started, state } = nodes(['a', 'b']);
  const full = new SessionStoreFull('The store has no room');
  vi.spyOn(state.sessions, 'put').mockImplementation(() => Promise.reject(full));
  const [a] = started;
  const session = await a.http.open();
  const events = await session.events();
  await log(a, 'one');
  expect(await next(events, 1)).toEqual(['one']);
});
