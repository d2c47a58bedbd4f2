import { expect, test, vi } from 'vitest';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import { aborted, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange, Session } from '../../../../core/exchange.ts';
import { Unavailable } from '../../../../core/unavailable.ts';
import type { JsonObject } from '../../../../jsonrpc/message.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { Bus } from '../../../../store/bus.ts';
import { memoryBus } from '../../../../store/memory-bus.ts';
import { memoryState } from '../../../../store/state.ts';

/** What a client sees if its messages reach another process than the one that they are for. */

/** Processes with one store and one bus. */
function nodes(...names: readonly string[]) {
  const state = memoryState();
  const alive = new Set(names);
  const isAlive = (node: string): Promise<boolean> => Promise.resolve(alive.has(node));
  const busOf = memoryBus((node) => alive.has(node));
  const started = names.map((node) => {
    const aborts: unknown[] = [];
    const notices: Exchange[] = [];
    const sessions = new Set<Session>();
    const wait = async (exchange: Exchange): Promise<JsonObject> => {
      await exchange.notify('notifications/message', { level: 'error', data: 'begun' });
      await aborted(exchange.signal);
      aborts.push((exchange.signal.reason as Error).message);
      return {};
    };
    const { service } = scripted({
      [Method.Discover]: () => ({
        capabilities: { logging: {}, tools: { listChanged: true } },
        serverInfo: { name: 'server', version: '1' },
      }),
      [Method.Listen]: listening([]),
      where: ({ caller }) => {
        if (caller.session) sessions.add(caller.session);
        return { node };
      },
      wait,
      // The first process cannot reach what it needs.
      elsewhere: async (exchange) => {
        if (node === names[0]) throw new Unavailable('not here', { cause: undefined });
        return wait(exchange);
      },
      log: async (exchange) => {
        for (const level of ['debug', 'warning', 'error'])
          await exchange.notify('notifications/message', { level, data: level });
        return {};
      },
      ask: (exchange) =>
        exchange.ask('elicitation/create', {
          message: 'who?',
          requestedSchema: { type: 'object' },
          _meta: { progressToken: 5 },
        }),
      list: (exchange) => exchange.ask('roots/list', {}),
      'notifications/progress': (exchange) => {
        notices.push(exchange);
        return {};
      },
    });
    const bus: Bus = busOf(node);
    const http = new TestHttp(service, { state: { ...state, node, isAlive, bus }, grace: 0 });
    return { http, bus, aborts, notices, sessions };
  });
  return { state, alive, started: started as [Node, Node, ...Node[]] };
}

interface Node {
  readonly http: TestHttp;
  readonly bus: Bus;
  /** Why calls of `wait` were aborted. */
  readonly aborts: unknown[];
  readonly notices: Exchange[];
  /** Those of the callers of `where`. */
  readonly sessions: Set<Session>;
}

const REVISION = '2025-11-25';

const at = ({ http }: Node, { id }: TestSession, revision = REVISION): TestSession =>
  new TestSession(http, id, revision);

/** The last message of a response. */
async function answer(response: Promise<Response>): Promise<any> {
  const got = await response;
  if (got.headers.get('content-type') !== 'text/event-stream') return got.json();
  const events = await new Events(got).rest();
  return JSON.parse(events.findLast(({ data }) => data)!.data!);
}

const accept = (name: string, id: unknown) => ({
  ...{ jsonrpc: '2.0', id },
  result: { action: 'accept', content: { name } },
});

/** A session, with a question that the first process has asked. */
async function asked(a: Node) {
  const session = await a.http.open(REVISION, { elicitation: {} });
  const call = new Events(await session.call('a', 'ask'));
  return { session, call, question: await call.message() };
}

test('an answer that reaches another process goes to the one that asked', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, call, question } = await asked(a);
  const accepted = await at(b, session).post(accept('Ada', question.id));
  expect(accepted.status).toBe(202);
  expect(await call.message()).toMatchObject({ id: 'a', result: { content: { name: 'Ada' } } });
});

test('an error as an answer goes there too', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, call, question } = await asked(a);
  const error = { code: -1, message: 'no' };
  expect((await at(b, session).post({ jsonrpc: '2.0', id: question.id, error })).status).toBe(202);
  expect(await call.message()).toMatchObject({ id: 'a', error: { message: 'no' } });
});

test('answers and cancellations for other processes are passed on while a process drains, and nothing else', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  b.http.handler.drain();
  const { session, call, question } = await asked(a);
  const other = at(b, session);
  expect((await other.call(1, 'where')).status).toBe(503);
  expect((await other.post([accept('Ada', question.id)])).status).toBe(503);
  expect((await other.post(accept('Ada', 'n1'))).status).toBe(503);
  expect((await other.post(accept('Ada', question.id))).status).toBe(202);
  expect(await call.message()).toMatchObject({ id: 'a', result: { content: { name: 'Ada' } } });
  const waiting = new Events(await session.call('w', 'wait'));
  await waiting.message();
  expect((await other.notify('notifications/cancelled', { requestId: 'w' })).status).toBe(202);
  expect(await waiting.next()).toBeUndefined();
  const unknown = new TestSession(b.http, 'unknown', REVISION);
  expect((await unknown.notify('notifications/cancelled', { requestId: 'w' })).status).toBe(503);
  expect(b.http.handler.revived).toBe(0);
});

test('a malformed answer fails the question of another process also while a process drains', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  b.http.handler.drain();
  const { session, call, question } = await asked(a);
  expect((await at(b, session).post({ jsonrpc: '2.0', id: question.id, result: 7 })).status).toBe(400);
  expect(await call.message()).toMatchObject({ id: 'a', error: { message: expect.any(String) } });
});

test('an answer for a process that is gone is refused', async () => {
  const { started, alive } = nodes('a', 'b');
  const [a, b] = started;
  const { session, question } = await asked(a);
  alive.delete('a');
  const refused = await at(b, session).post(accept('Ada', question.id));
  expect(refused.status).toBe(400);
  expect(((await refused.json()) as any).error.message).toContain('No question waits for this answer');
});

test('an answer to a question that nobody has asked is refused', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, question } = await asked(a);
  for (const id of [question.id.replace(/\d+$/, '999'), question.id.replace('xax', 'xzx'), 7, 'x']) {
    const refused = await at(b, session).post(accept('Ada', id));
    expect(refused.status, id).toBe(400);
  }
});

test('a malformed answer that reaches another process fails the question there', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, call, question } = await asked(a);
  const malformed = { jsonrpc: '2.0', id: question.id, result: 7 };
  expect((await at(b, session).post(malformed)).status).toBe(400);
  expect(await call.message()).toMatchObject({ id: 'a', error: { message: expect.any(String) } });
});

test('an answer that cannot be passed on is refused for now', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, call, question } = await asked(a);
  vi.spyOn(b.bus, 'send').mockRejectedValueOnce(new Error('unreachable'));
  const refused = await at(b, session).post(accept('Ada', question.id));
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(b.http.errors.map(({ message }) => message)).toEqual(['unreachable']);
  expect((await at(b, session).post(accept('Ada', question.id))).status).toBe(202);
  expect(await call.message()).toMatchObject({ id: 'a', result: { content: { name: 'Ada' } } });
});

test('in a batch, each message goes to its process', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open('2025-03-26', { roots: {} });
  const other = at(b, session, '2025-03-26');
  const ask = async (id: string) => {
    const call = new Events(await session.call(id, 'list'));
    return { call, question: (await call.message()).id as string };
  };
  const reply = (id: string) => ({ jsonrpc: '2.0', id, result: { roots: [] } });
  const first = await ask('a');
  const batch = [reply(first.question), { jsonrpc: '2.0', id: 1, method: 'where' }];
  const answered = await answer(other.post(batch));
  expect(Array.isArray(answered) ? answered[0] : answered).toMatchObject({ id: 1, result: { node: 'b' } });
  expect(await first.call.message()).toMatchObject({ id: 'a', result: { roots: [] } });
  const second = await ask('b');
  expect((await other.post([reply(second.question)])).status).toBe(202);
  expect(await second.call.message()).toMatchObject({ id: 'b', result: { roots: [] } });
  expect((await other.post([reply(second.question.replace('xax', 'xzx'))])).status).toBe(400);
});

test('progress of the client goes to the process that asked, with the token that this has chosen', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, question } = await asked(a);
  const { progressToken } = question.params['_meta'];
  const params = { progressToken, progress: 1 };
  expect((await at(b, session).notify('notifications/progress', params)).status).toBe(202);
  expect(a.notices.map((exchange) => exchange.params)).toEqual([{ progressToken: 5, progress: 1 }]);
  expect((await session.notify('notifications/progress', { progressToken, progress: 2 })).status).toBe(202);
  expect(a.notices).toHaveLength(2);
  expect(b.notices).toEqual([]);
});

test('a call is cancelled at the process that runs it', async () => {
  const { started } = nodes('a', 'b', 'c');
  const [a, b, c] = started;
  const session = await a.http.open();
  await answer(at(c!, session).call(1, 'where'));
  const call = new Events(await session.call('w', 'wait'));
  await call.message();
  const other = at(b, session);
  expect((await other.notify('notifications/cancelled', { requestId: 'v' })).status).toBe(202);
  expect(a.aborts).toEqual([]);
  expect((await other.notify('notifications/cancelled', { requestId: 'w', reason: 'enough' })).status).toBe(202);
  expect(await call.next()).toBeUndefined();
  await vi.waitFor(() => expect(a.aborts).toEqual(['Cancelled: enough']));
});

test('one client cannot let more messages wait than its share, also in a batch', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open('2025-03-26');
  const other = at(b, session, '2025-03-26');
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const sent = vi.spyOn(b.bus, 'sendToAll').mockImplementation(() => released);
  const cancel = (requestId: number) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  const batch = other.post(Array.from({ length: 1000 }, (_, id) => cancel(id)));
  await vi.waitFor(() => expect(sent).toHaveBeenCalled());
  expect(sent).toHaveBeenCalledTimes(64);
  expect((await other.post(cancel(7))).status).toBe(503);
  expect((await other.delete()).status).toBe(503);
  expect(sent).toHaveBeenCalledTimes(64);
  release();
  const refused = await batch;
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toHaveLength(1000 - 64);
  expect((await other.post(cancel(7))).status).toBe(202);
});

test('one client cannot let more bytes wait than its share, but one message may be larger', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, question } = await asked(a);
  let release!: (taken: boolean) => void;
  const released = new Promise<boolean>((resolve) => (release = resolve));
  const sent = vi.spyOn(b.bus, 'send').mockImplementation(() => released);
  const other = at(b, session);
  const large = other.post(accept('x'.repeat(3 * 1024 * 1024), question.id));
  await vi.waitFor(() => expect(sent).toHaveBeenCalledTimes(1));
  expect((await other.post(accept('Ada', question.id))).status).toBe(503);
  release(true);
  expect((await large).status).toBe(202);
  expect((await other.post(accept('Ada', question.id))).status).toBe(202);
});

test('small messages do not make a large one of their batch smaller', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const other = at(b, await a.http.open('2025-03-26'), '2025-03-26');
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const sent = vi.spyOn(b.bus, 'sendToAll').mockImplementation(() => released);
  const cancel = (params: object) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  const small = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const large = cancel({ requestId: 7, reason: 'x'.repeat(3 * 1024 * 1024) });
  const first = other.post([large, ...Array.from({ length: 900 }, () => small)]);
  await vi.waitFor(() => expect(sent).toHaveBeenCalledTimes(1));
  expect((await other.post(cancel({ requestId: 8 }))).status).toBe(503);
  release();
  expect((await first).status).toBe(202);
});

test('a batch that could not be passed on may be repeated', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open('2025-03-26');
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  vi.spyOn(b.bus, 'sendToAll').mockRejectedValueOnce(new Error('unreachable'));
  const refused = await at(b, session, '2025-03-26').post([cancelled, cancelled]);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toEqual([expect.objectContaining({ error: expect.anything() })]);
});

test('a cancellation that comes after the response is for no other process', async () => {
  const { started } = nodes('a', 'b');
  const [a] = started;
  const session = await a.http.open('2025-03-26');
  await answer(session.call(1, 'where'));
  await answer(session.post([{ jsonrpc: '2.0', id: '2', method: 'where' }]));
  const sent = vi.spyOn(a.bus, 'sendToAll').mockRejectedValue(new Error('unreachable'));
  const cancel = async (requestId: unknown) => (await session.notify('notifications/cancelled', { requestId })).status;
  expect([await cancel(1), await cancel('2')]).toEqual([202, 202]);
  expect(sent).not.toHaveBeenCalled();
  expect([await cancel('1'), await cancel(2)]).toEqual([503, 503]);
});

test.each([
  ['the same', 0],
  ['another', 1],
])('a cancellation that comes before its call cancels it at %s process', async (_, index) => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  await answer(at(b, session).call(1, 'where'));
  expect((await session.notify('notifications/cancelled', { requestId: 'w' })).status).toBe(202);
  const runner = started[index]!;
  void at(runner, session).call('w', 'wait');
  await vi.waitFor(() => expect(runner.aborts).toEqual(['Cancelled']));
});

test('a call that was refused here, and repeated at another process, is cancelled there', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  expect((await session.call('w', 'elsewhere')).status).toBe(503);
  const call = new Events(await at(b, session).call('w', 'elsewhere'));
  await call.message();
  expect((await session.notify('notifications/cancelled', { requestId: 'w', reason: 'enough' })).status).toBe(202);
  await expect.poll(() => b.aborts).toEqual(['Cancelled: enough']);
});

test('a process that cannot be told of a cancellation is no success', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  vi.spyOn(b.bus, 'sendToAll').mockRejectedValueOnce(new Error('unreachable'));
  expect((await at(b, session).notify('notifications/cancelled', { requestId: 'w' })).status).toBe(503);
});

test('DELETE ends the session at every process, and its calls', async () => {
  const { started } = nodes('a', 'b', 'c');
  const [a, b, c] = started;
  const session = await a.http.open();
  const call = new Events(await session.call('w', 'wait'));
  await call.message();
  await answer(at(c!, session).call(1, 'where'));
  expect((await at(b, session).delete()).status).toBe(204);
  await vi.waitFor(() => expect(a.aborts).toHaveLength(1));
  for (const node of started) {
    await vi.waitFor(() => expect(node.http.handler.sessions).toBe(0));
    expect((await at(node, session).call(2, 'where')).status).toBe(404);
  }
});

test('the service learns whether the session has ended at all processes, or only at one that stops', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  for (const node of started) await answer(at(node, session).call(1, 'where'));
  const [atA, atB] = [...a.sessions, ...b.sessions];
  await b.http.handler.close();
  expect([atB!.signal.aborted, atB!.endedEverywhere]).toEqual([true, false]);
  expect((await session.delete()).status).toBe(204);
  expect([atA!.signal.aborted, atA!.endedEverywhere]).toEqual([true, true]);
});

test('a process that is about to continue a session does not continue it after DELETE', async () => {
  const { started, state } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  const get = state.sessions.get.bind(state.sessions);
  let deleted!: () => void;
  const isDeleted = new Promise<void>((resolve) => (deleted = resolve));
  vi.spyOn(state.sessions, 'get').mockImplementationOnce(async (id) => {
    const found = await get(id);
    await isDeleted;
    return found;
  });
  const called = at(b, session).call(1, 'where');
  await settled();
  expect((await session.delete()).status).toBe(204);
  deleted();
  expect((await called).status).toBe(404);
  expect(b.http.handler.sessions).toBe(0);
});

test('DELETE can be repeated if other processes could not be told', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  const call = new Events(await session.call('w', 'wait'));
  await call.message();
  const other = at(b, session);
  await answer(other.call(1, 'where'));
  vi.spyOn(b.bus, 'sendToAll').mockRejectedValueOnce(new Error('unreachable'));
  const refused = await other.delete();
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(((await refused.json()) as any).error.message).toContain('may still be open at another process');
  expect(b.http.errors.map(({ message }) => message)).toEqual(['unreachable']);
  expect((await other.delete()).status).toBe(204);
  await vi.waitFor(() => expect(a.aborts).toHaveLength(1));
  await vi.waitFor(() => expect(started.map(({ http }) => http.handler.sessions)).toEqual([0, 0]));
});

test('DELETE can be repeated if the store fails, and nothing has ended before', async () => {
  const { started, state } = nodes('a', 'b');
  const [a, b] = started;
  const session = await a.http.open();
  await answer(at(b, session).call(1, 'where'));
  vi.spyOn(state.sessions, 'delete').mockRejectedValueOnce(new Error('unreachable'));
  expect((await session.delete()).status).toBe(503);
  expect(await answer(session.call(2, 'where'))).toMatchObject({ result: { node: 'a' } });
  expect(await answer(at(b, session).call(3, 'where'))).toMatchObject({ result: { node: 'b' } });
  expect((await at(b, session).delete()).status).toBe(204);
  expect((await session.call(4, 'where')).status).toBe(404);
});

test('a log level takes effect at every process that has the session', async () => {
  const { started } = nodes('a', 'b', 'c');
  const [a, b] = started;
  const session = await a.http.open();
  let calls = 0;
  const levels = async (node: Node): Promise<unknown[]> => {
    const events = await new Events(await at(node, session).call(`log ${(calls += 1)}`, 'log')).rest();
    return events.flatMap(({ data }) => (data ? [JSON.parse(data).params?.data] : [])).filter(Boolean);
  };
  await answer(at(b, session).call(1, 'logging/setLevel', { level: 'error' }));
  for (const node of started) expect(await levels(node)).toEqual(['error']);
  await answer(session.call(2, 'logging/setLevel', { level: 'debug' }));
  for (const node of started) expect(await levels(node)).toEqual(['debug', 'warning', 'error']);
});

test('a level that other processes could not be told is an error', async () => {
  const { started } = nodes('a', 'b');
  const [a] = started;
  const session = await a.http.open();
  vi.spyOn(a.bus, 'sendToAll').mockRejectedValueOnce(new Error('unreachable'));
  const { error } = await answer(session.call(1, 'logging/setLevel', { level: 'error' }));
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('could not be told') });
});

test('what is not of the principal of a session is ignored', async () => {
  const { state } = nodes('a', 'b');
  const busOf = memoryBus();
  const aborts: unknown[] = [];
  const { service } = scripted({
    wait: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'error', data: 'begun' });
      await aborted(exchange.signal);
      aborts.push(exchange.signal.reason);
      return {};
    },
  });
  const isAlive = (): Promise<boolean> => Promise.resolve(true);
  const http = new TestHttp(service, { state: { ...state, node: 'a', isAlive, bus: busOf('a') }, grace: 0 });
  const spy = vi.spyOn(state.sessions, 'put');
  const session = await http.open();
  const call = new Events(await session.call('w', 'wait'));
  await call.message();
  const stored = spy.mock.calls[0]![0];
  const intruder = busOf('b');
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } };
  for (const principal of ['eve', null, 7]) {
    const body = { session: stored, principal };
    expect(await intruder.send('a', 'message', { ...body, message: cancel })).toBe(false);
    expect(await intruder.send('a', 'end', body)).toBe(false);
    expect(await intruder.send('a', 'settings', { ...body, changes: [] })).toBe(false);
  }
  for (const body of [
    {},
    { session: session.id },
    { session: 7 },
    { session: stored },
    { session: stored, message: 7 },
  ])
    expect(await intruder.send('a', 'message', body)).toBe(false);
  await settled();
  expect(aborts).toEqual([]);
  expect(http.handler.sessions).toBe(1);
});

test('a closed handler takes nothing any more', async () => {
  const { started } = nodes('a', 'b');
  const [a, b] = started;
  const { session, question } = await asked(a);
  const other = at(b, session);
  await answer(other.call(1, 'where'));
  await a.http.handler.close();
  expect((await other.post(accept('Ada', question.id))).status).toBe(400);
});
