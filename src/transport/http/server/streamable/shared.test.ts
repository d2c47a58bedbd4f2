import { expect, onTestFinished, test, vi } from 'vitest';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import { deferred, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import { Method } from '../../../../protocol/methods.ts';
import { memoryState } from '../../../../store/state.ts';

/** What a client sees if its requests reach several processes that use one store at once. */

/** Two processes with one store. */
function nodes(options: { readonly idleTimeout?: number; readonly grace?: number } = {}) {
  const state = memoryState();
  const alive = new Set(['a', 'b']);
  const isAlive = (node: string): Promise<boolean> => Promise.resolve(alive.has(node));
  const start = (node: string) => {
    const subscribers: Exchange[] = [];
    const gate = deferred();
    const { service } = scripted({
      [Method.Discover]: () => ({
        capabilities: { logging: {}, tools: { listChanged: true } },
        serverInfo: { name: 'server', version: '1' },
      }),
      [Method.Listen]: listening(subscribers),
      where: () => ({ node }),
      whose: ({ caller }) => ({ revived: caller.session?.revived ?? false }),
      work: async (exchange) => {
        await exchange.notify('notifications/message', { level: 'error', data: 'begun' });
        await gate.promise;
        return { node };
      },
      quiet: () => gate.promise.then(() => ({})),
      list: (exchange) => exchange.ask('roots/list', {}),
      ask: (exchange) => exchange.ask('elicitation/create', { message: 'who?', requestedSchema: { type: 'object' } }),
    });
    const http = new TestHttp(service, { state: { ...state, node, isAlive }, grace: 0, ...options });
    return { http, gate, subscribers };
  };
  return { state, alive, a: start('a'), b: start('b') };
}

const at = ({ http }: { http: TestHttp }, { id }: TestSession): TestSession => new TestSession(http, id, '2025-11-25');

const answer = async (response: Promise<Response>): Promise<any> => {
  const got = await response;
  return got.headers.get('content-type') === 'text/event-stream' ? new Events(got).message() : got.json();
};

/** A client opens a session at process a. It is not in the store until `stored` resolves. */
async function openingSlowly() {
  const { a, b, state } = nodes();
  const stored = deferred();
  const put = state.sessions.put.bind(state.sessions);
  vi.spyOn(state.sessions, 'put').mockImplementation((...args) => stored.promise.then(() => put(...args)));
  const opening = a.http.open('2025-11-25');
  await settled();
  return { a, b, stored, opening };
}

test('a session can be used at another process as soon as its client knows it', async () => {
  const { b, stored, opening } = await openingSlowly();
  stored.resolve();
  const session = await opening;
  expect(await answer(at(b, session).call(1, 'where'))).toMatchObject({ result: { node: 'b' } });
  expect(await answer(session.call(2, 'where'))).toMatchObject({ result: { node: 'a' } });
});

test('a process that stops sends the result of initialize that waits for the store', async () => {
  const { a, b, stored, opening } = await openingSlowly();
  const closing = a.http.handler.close();
  await settled();
  stored.resolve();
  expect(await answer(at(b, await opening).call(1, 'where'))).toMatchObject({ result: { node: 'b' } });
  await closing;
});

test('a process that stops sends the response to a change that waits for the store', async () => {
  const { a, state } = nodes();
  const session = await a.http.open('2025-11-25');
  const stored = deferred();
  const change = state.sessions.change.bind(state.sessions);
  vi.spyOn(state.sessions, 'change').mockImplementation((...args) => stored.promise.then(() => change(...args)));
  const setting = answer(session.call(1, 'logging/setLevel', { level: 'error' }));
  await settled();
  const closing = a.http.handler.close();
  await settled();
  stored.resolve();
  expect(await setting).toMatchObject({ id: 1, result: {} });
  await closing;
});

test('a process knows whether another one has opened the session', async () => {
  const { a, b } = nodes();
  const session = await a.http.open('2025-11-25');
  expect(await answer(session.call(1, 'whose'))).toMatchObject({ result: { revived: false } });
  expect(await answer(at(b, session).call(2, 'whose'))).toMatchObject({ result: { revived: true } });
});

test.each(['alone', 'in a batch'])(
  'a process asks although another one was told that the client is ready (%s)',
  async (how) => {
    const { a, b } = nodes();
    const session = await a.http.open('2025-03-26', { elicitation: {}, roots: {} }, false);
    await new TestSession(b.http, session.id, '2025-03-26').notify('notifications/initialized');
    const list = { jsonrpc: '2.0', id: 'l', method: 'list' };
    const call = new Events(await session.post(how === 'alone' ? list : [list]));
    expect(await call.message()).toMatchObject({ method: 'roots/list' });
  },
);

test('a ping does not say that the client is ready to be asked', async () => {
  const { a, b } = nodes();
  const session = await a.http.open('2025-11-25', { roots: {} }, false);
  expect(await answer(session.call(1, 'ping'))).toMatchObject({ result: {} });
  expect(a.subscribers).toEqual([]);
  expect(await answer(session.call(2, 'where'))).toMatchObject({ result: { node: 'a' } });
  expect(a.subscribers).toHaveLength(1);
  expect(b.subscribers).toEqual([]);
});

test('a call goes on while another process continues the session, and its stream can be read there', async () => {
  const { a, b } = nodes();
  const session = await a.http.open('2025-11-25');
  const call = new Events(await session.call('w', 'work'));
  const { id } = (await call.next())!;
  expect((await call.message()).params.data).toBe('begun');
  await call.cancel();
  const other = at(b, session);
  const first = await (await other.events(id)).rest();
  expect(first.filter(({ data }) => data).map(({ data }) => JSON.parse(data!).params.data)).toEqual(['begun']);
  expect(first.at(-1)?.retry).toBe('1000');
  const last = first.findLast((event) => event.id)!.id;
  // Official clients forget the last id if a response has none.
  expect(await (await other.events(last)).rest()).toEqual([{ id: last, data: '' }, { retry: '1000' }]);
  a.gate.resolve();
  await settled();
  expect(await (await other.events(last)).message()).toMatchObject({ id: 'w', result: { node: 'a' } });
});

test('a call of a process that is gone ends with an error, at a process that has the session already', async () => {
  const { a, b, alive } = nodes();
  const session = await a.http.open('2025-11-25');
  const call = new Events(await session.call('w', 'work'));
  const { id } = (await call.next())!;
  await call.cancel();
  const other = at(b, session);
  expect(await answer(other.call(1, 'where'))).toMatchObject({ result: { node: 'b' } });
  alive.delete('a');
  const messages = (await (await other.events(id)).rest()).flatMap(({ data }) => (data ? [JSON.parse(data)] : []));
  expect(messages.at(-1)).toMatchObject({ id: 'w', error: { code: -32_000 } });
});

test('reading the stream of a call at another process does not read the other streams of the session', async () => {
  const { a, b, state } = nodes();
  const session = await a.http.open('2025-11-25');
  const call = new Events(await session.call('w', 'work'));
  const { id } = (await call.next())!;
  await call.cancel();
  const other = at(b, session);
  await answer(other.call(1, 'where'));
  const unfinished = vi.spyOn(state.events, 'unfinished');
  const end = vi.spyOn(state.events, 'end');
  await (await other.events(id)).rest();
  expect(unfinished).not.toHaveBeenCalled();
  expect(end).not.toHaveBeenCalled();
});

test('the own stream goes on at another process: what the first one has written comes first', async () => {
  const { a, b } = nodes();
  const session = await a.http.open('2025-11-25');
  const own = await session.events();
  const { id } = (await own.next())!;
  await own.cancel();
  await a.subscribers[0]!.notify('notifications/tools/list_changed');
  await settled();
  const other = await at(b, session).events(id);
  const methods = [await other.message(), await other.message()].map(({ method }) => method);
  // The second one says that all may have changed.
  expect(methods).toEqual(['notifications/tools/list_changed', 'notifications/tools/list_changed']);
});

test('an answer that reaches another process is refused, also if that has asked too', async () => {
  const { a, b } = nodes();
  const session = await a.http.open('2025-11-25', { elicitation: {} });
  const other = at(b, session);
  const [ofA, ofB] = [new Events(await session.call('a', 'ask')), new Events(await other.call('b', 'ask'))];
  const [askedByA, askedByB] = [await ofA.message(), await ofB.message()];
  expect(askedByA.id).not.toBe(askedByB.id);
  const reply = (name: string, id: unknown) => ({
    jsonrpc: '2.0',
    id,
    result: { action: 'accept', content: { name } },
  });
  const refused = await other.post(reply('to a', askedByA.id));
  expect(refused.status).toBe(400);
  expect(((await refused.json()) as { error: { message: string } }).error.message).toContain(
    'it was asked by another process',
  );
  expect((await session.post(reply('to a', askedByA.id))).status).toBe(202);
  expect((await other.post(reply('to b', askedByB.id))).status).toBe(202);
  expect(await ofA.message()).toMatchObject({ id: 'a', result: { content: { name: 'to a' } } });
  expect(await ofB.message()).toMatchObject({ id: 'b', result: { content: { name: 'to b' } } });
});

test('in a batch, too, an answer that reaches another process is refused, and the rest is taken', async () => {
  const { a, b } = nodes();
  const session = await a.http.open('2025-03-26', { roots: {} });
  const other = new TestSession(b.http, session.id, '2025-03-26');
  const [ofA, ofB] = [new Events(await session.call('a', 'list')), new Events(await other.call('b', 'list'))];
  const [askedByA, askedByB] = [await ofA.message(), await ofB.message()];
  const reply = ({ id }: { id: unknown }) => ({ jsonrpc: '2.0', id, result: { roots: [] } });
  const refusal = { jsonrpc: '2.0', error: { code: -32_000, message: expect.stringContaining('another process') } };
  const refused = await other.post([reply(askedByA), reply(askedByA)]);
  expect([refused.status, await refused.json()]).toEqual([400, [refusal, refusal]]);
  const mixed = await other.post([reply(askedByA), reply(askedByB), { jsonrpc: '2.0', id: 2, method: 'where' }]);
  const isStream = mixed.headers.get('content-type') === 'text/event-stream';
  const answers = isStream ? (await new Events(mixed).rest()).map(({ data }) => JSON.parse(data!)) : await mixed.json();
  expect(answers).toEqual([refusal, { jsonrpc: '2.0', id: 2, result: { node: 'b' } }]);
  expect(await ofB.message()).toMatchObject({ id: 'b', result: { roots: [] } });
  expect((await session.post([reply(askedByA)])).status).toBe(202);
  expect(await ofA.message()).toMatchObject({ id: 'a', result: { roots: [] } });
});

test('a session that is silent at one process stays in the store', async () => {
  vi.useFakeTimers();
  const { a, b } = nodes({ idleTimeout: 1000 });
  const session = await a.http.open('2025-11-25');
  vi.advanceTimersByTime(2000);
  vi.useRealTimers();
  await settled();
  expect(a.http.handler.sessions).toBe(0);
  expect(await answer(at(b, session).call(1, 'where'))).toMatchObject({ result: { node: 'b' } });
  expect(await answer(session.call(2, 'where'))).toMatchObject({ result: { node: 'a' } });
});

test('a call ends with an error if its process ends the silent session, also if its stream is read at another one', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { a, b } = nodes({ idleTimeout: 1000 });
  const session = await a.http.open('2025-11-25');
  const call = new Events(await session.call('w', 'work'));
  const { id } = (await call.next())!;
  await call.cancel();
  const other = at(b, session);
  await (await other.events(id)).rest();
  vi.advanceTimersByTime(2000);
  await settled();
  expect(a.http.handler.sessions).toBe(0);
  const messages = (await (await other.events(id)).rest()).flatMap(({ data }) => (data ? [JSON.parse(data)] : []));
  expect(messages.at(-1)).toEqual({
    jsonrpc: '2.0',
    id: 'w',
    error: {
      code: -32_000,
      message: 'The server has ended this before it was done; it may have been done in part',
    },
  });
});

test('a call that ends with its process does not say that its session has ended, or that it did not run', async () => {
  const { a, b } = nodes({ grace: 60_000 });
  const session = await a.http.open('2025-11-25');
  const call = session.call('w', 'quiet');
  await settled();
  await a.http.handler.close();
  const response = await call;
  const { error }: any = await response.json();
  expect([response.status, error.message]).toEqual([503, expect.stringContaining('may have been done in part')]);
  expect(error.data).toBeUndefined();
  expect(await answer(at(b, session).call(1, 'where'))).toMatchObject({ result: { node: 'b' } });
});

test('what waits while its process ends did not run, and its session goes on at another one', async () => {
  const { a, state } = nodes();
  const session = await a.http.open('2025-11-25');
  // It never opens the session.
  const { service } = scripted({ [Method.Discover]: () => deferred().promise });
  const http = new TestHttp(service, { state: { ...state, node: 'c', isAlive: () => Promise.resolve(true) } });
  const other = new TestSession(http, session.id, '2025-11-25');
  const waiting = [other.call(1, 'where'), other.get(), other.delete()];
  await settled();
  await http.handler.close();
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(503);
  expect(await answer(at(a, session).call(2, 'where'))).toMatchObject({ result: { node: 'a' } });
});

test('a stream can be read at another process if the state keeps no sessions', async () => {
  const { events } = memoryState();
  const [a, b] = ['a', 'b'].map((node) => {
    const { service } = scripted({
      work: async (exchange) => {
        await exchange.notify('notifications/message', { level: 'error', data: 'begun' });
        await deferred().promise;
        return {};
      },
    });
    const state = { events, node, isAlive: () => Promise.resolve(true) };
    return { http: new TestHttp(service, { state, sessionKey: 'x'.repeat(16), grace: 0 }) };
  }) as [{ http: TestHttp }, { http: TestHttp }];
  const session = await a.http.open();
  const call = new Events(await session.call('w', 'work'));
  const primed = await call.next();
  expect((await at(b, session).get(primed!.id)).status).toBe(200);
  expect(b.http.errors).toEqual([]);
});

test('if a session is ended while its client begins to read its own stream, nothing is reported', async () => {
  const { a, state } = nodes();
  const session = await a.http.open();
  const { after } = state.events;
  const [isDeleted, isRead] = [deferred(), deferred()];
  vi.spyOn(state.events, 'after').mockImplementation(async function* (...args) {
    await isDeleted.promise;
    setImmediate(isRead.resolve);
    yield* after.apply(state.events, args);
  });
  const { delete: remove } = state.sessions;
  // Redis removes the events of a session with it.
  vi.spyOn(state.sessions, 'delete').mockImplementation(async (id) => {
    await state.events.drop(id);
    await remove.call(state.sessions, id);
    isDeleted.resolve();
    await isRead.promise;
  });
  const events = await session.events();
  expect((await session.delete()).status).toBe(204);
  // Only the event at its beginning, which has no message.
  expect((await events.rest()).map(({ data }) => data)).toEqual(['']);
  expect(a.http.errors).toEqual([]);
});

test('if a session is ended before its client can read its own stream, the client learns that, and nothing is reported', async () => {
  const { a, state } = nodes();
  const session = await a.http.open();
  const { open } = state.events;
  const isDeleted = deferred();
  vi.spyOn(state.events, 'open').mockImplementation((...args) =>
    isDeleted.promise.then(() => open.apply(state.events, args)),
  );
  const reading = session.get();
  await settled();
  expect((await session.delete()).status).toBe(204);
  isDeleted.resolve();
  expect((await reading).status).toBe(404);
  expect(a.http.errors).toEqual([]);
});
