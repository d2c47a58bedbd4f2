import { describe, expect, test, vi } from 'vitest';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import { deferred, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import { Method } from '../../../../protocol/methods.ts';
import { memoryState, type State } from '../../../../store/state.ts';
import { NOT_EXECUTED } from '../../not-executed.ts';
import { logWith } from '../../../../../test/support/event-log.ts';
import { storedIdOf } from './stored-session.ts';

/**
 * What a client sees if its server is killed and another process with the same state takes over. A test "kills" a
 * handler by never using it again.
 */

const UPDATED = 'notifications/resources/updated';
const capabilities = { logging: {}, tools: { listChanged: true }, resources: { subscribe: true } };
const serverInfo = { name: 'server', version: '1' };

function started(state: Partial<State> & Pick<State, 'events'>, principal?: string) {
  const subscribers: Exchange[] = [];
  const never = deferred<never>();
  const { service, seen } = scripted({
    [Method.Discover]: () => ({ capabilities, serverInfo }),
    [Method.Listen]: listening(subscribers),
    talk: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'error', data: 'working' });
      return exchange.params['forever'] ? never.promise : { done: true };
    },
    ask: (exchange) => exchange.ask('elicitation/create', { message: 'who?', requestedSchema: { type: 'object' } }),
    who: ({ caller }) => ({ level: caller.logLevel, client: caller.clientInfo, can: caller.capabilities }),
  });
  const http = new TestHttp(service, { state, grace: 0 });
  if (principal !== undefined) {
    const { fetch } = http;
    (http as { fetch: TestHttp['fetch'] }).fetch = (request) => fetch(request, { principal });
  }
  return { http, seen, subscribers };
}

const at = (http: TestHttp, { id, headers }: TestSession): TestSession =>
  new TestSession(http, id, headers['mcp-protocol-version'] ?? '2025-03-26');

const json = async (response: Promise<Response>): Promise<any> => {
  const answer = await response;
  if (answer.headers.get('content-type') !== 'text/event-stream') return answer.json();
  return new Events(answer).message();
};

describe('after a kill', () => {
  test.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
    'a session of %s goes on as it was opened',
    async (revision) => {
      const state = memoryState();
      const session = await started(state).http.open(revision, { roots: {}, experimental: { own: {} } });
      const { http, seen } = started(state);
      expect(await json(at(http, session).call(1, 'who'))).toEqual({
        jsonrpc: '2.0',
        id: 1,
        result: { client: { name: 'test', version: '1' }, can: { roots: {}, experimental: { own: {} } } },
      });
      expect(seen.filter(({ method }) => method === Method.Discover)).toHaveLength(1);
      expect(http.errors).toEqual([]);
    },
  );

  test.each<object>([{ resources: 5 }, { resources: null }, { resources: [5] }, { logLevel: {} }, { initialize: 'x' }])(
    'a session with a record that no process has written (%j) is unknown',
    async (damage) => {
      const state = memoryState();
      const session = await started(state).http.open();
      const record = await state.sessions.get(storedIdOf(session.id));
      await state.sessions.delete(storedIdOf(session.id));
      await state.sessions.put(storedIdOf(session.id), { ...record!, ...damage });
      const { http } = started(state);
      expect((await at(http, session).call(1, 'who')).status).toBe(404);
    },
  );

  test('its log level and its subscriptions are there again, and it is told that all may have changed', async () => {
    const state = memoryState();
    const session = await started(state).http.open();
    await json(session.call(1, 'logging/setLevel', { level: 'warning' }));
    for (const uri of ['a:1', 'a:2', 'a:3']) await json(session.call(uri, 'resources/subscribe', { uri }));
    await json(session.call(2, 'resources/unsubscribe', { uri: 'a:2' }));
    const { http, subscribers } = started(state);
    const again = at(http, session);
    expect((await json(again.call(3, 'who'))).result.level).toBe('warning');
    await settled();
    const filters = subscribers.map(({ params }) => params['notifications'].resourceSubscriptions);
    expect(filters.filter(Boolean)).toEqual([['a:1'], ['a:3']]);
    const events = await again.events();
    const told = [await events.message(), await events.message(), await events.message()];
    expect(told.map(({ method, params }) => [method, params?.uri])).toEqual([
      ['notifications/tools/list_changed', undefined],
      [UPDATED, 'a:1'],
      [UPDATED, 'a:3'],
    ]);
    expect(http.errors).toEqual([]);
  });

  test('the own stream resumes without gap or duplicate, and goes on', async () => {
    const state = memoryState();
    const first = started(state);
    const session = await first.http.open();
    const [listener] = first.subscribers;
    const events = await session.events();
    const { id } = (await events.next())!;
    const tell = (exchange: Exchange, data: number) =>
      exchange.notify('notifications/message', { level: 'error', data });
    await tell(listener!, 1);
    const seen = await events.next();
    await events.cancel();
    for (const data of [2, 3]) await tell(listener!, data);
    const next = started(state);
    const again = at(next.http, session);
    const resumed = await again.events(seen!.id);
    const data = async (): Promise<unknown> => (await resumed.message()).params?.data;
    expect([await data(), await data(), (await resumed.message()).method]).toEqual([
      2,
      3,
      'notifications/tools/list_changed',
    ]);
    await tell(next.subscribers[0]!, 4);
    expect(await data()).toBe(4);
    await resumed.cancel();
    const all = await again.events(id);
    const messages = [await all.message(), await all.message(), await all.message()];
    expect(messages.map(({ params }) => params?.data)).toEqual([1, 2, 3]);
    await all.cancel();
  });

  test('a call in mid-run ends with an error exactly once', async () => {
    const state = memoryState();
    const session = await started(state).http.open();
    const events = new Events(await session.call(7, 'talk', { forever: true }));
    const priming = (await events.next())!.id!;
    const working = (await events.next())!.id!;
    await events.cancel();
    for (let restarts = 0; restarts < 2; restarts += 1) {
      const again = at(started(state).http, session);
      for (const [lastEventId, count] of [
        [priming, 2],
        [working, 1],
      ] as const) {
        const rest = (await (await again.events(lastEventId)).rest()).filter(({ data }) => data);
        expect(rest).toHaveLength(count);
        expect(JSON.parse(rest.at(-1)!.data!)).toEqual({
          jsonrpc: '2.0',
          id: 7,
          error: {
            code: -32_000,
            message: 'The server was restarted before this was done; it may have been done in part',
          },
        });
        expect((await again.get(rest.at(-1)!.id)).status).toBe(204);
      }
    }
  });

  test('a result that the client has not read is there', async () => {
    const state = memoryState();
    const session = await started(state).http.open();
    const events = new Events(await session.call(1, 'talk'));
    const { id } = (await events.next())!;
    await events.rest();
    const rest = (await (await at(started(state).http, session).events(id)).rest()).filter(({ data }) => data);
    expect(JSON.parse(rest.at(-1)!.data!)).toMatchObject({ id: 1, result: { done: true } });
  });

  test('streams of calls of both processes do not meet', async () => {
    const state = memoryState();
    const session = await started(state).http.open();
    const former = new Events(await session.call(1, 'talk'));
    const { id } = (await former.next())!;
    await former.rest();
    const again = at(started(state).http, session);
    const events = await new Events(await again.call(1, 'talk')).rest();
    expect(events.map((event) => event.id)).not.toContain(id);
    expect((await (await again.events(id)).rest()).filter(({ data }) => data)).toHaveLength(2);
  });

  test('an answer to a question of the former process is refused, and answers no other question', async () => {
    const state = memoryState();
    const session = await started(state).http.open('2025-11-25', { elicitation: {} });
    const asked = await new Events(await session.call(1, 'ask')).message();
    const again = at(started(state).http, session);
    const other = new Events(await again.call(2, 'ask'));
    const question = await other.message();
    const answer = { result: { action: 'accept', content: {} } };
    const late = await again.post({ jsonrpc: '2.0', id: asked.id, ...answer });
    expect([late.status, (await json(Promise.resolve(late))).error.message]).toEqual([
      400,
      'The server was restarted since it asked this, so nothing waits for the answer; call again',
    ]);
    expect((await again.post({ jsonrpc: '2.0', id: question.id, ...answer })).status).toBe(202);
    expect(await other.message()).toMatchObject({ id: 2, result: { action: 'accept' } });
  });

  test('a session that ended stays ended', async () => {
    const state = memoryState();
    const { http } = started(state);
    const session = await http.open();
    const events = await session.events();
    const { id } = (await events.next())!;
    expect((await session.delete()).status).toBe(204);
    const again = at(started(state).http, session);
    expect((await again.call(1, 'who')).status).toBe(404);
    expect((await again.get(id)).status).toBe(404);
  });

  test('a session that was revived ends for good too', async () => {
    const state = memoryState();
    const session = await started(state).http.open();
    expect((await at(started(state).http, session).delete()).status).toBe(204);
    expect((await at(started(state).http, session).call(1, 'who')).status).toBe(404);
  });

  test('a session belongs to its principal', async () => {
    const state = memoryState();
    const session = await started(state, 'ann').http.open();
    expect((await at(started(state, 'bob').http, session).call(1, 'who')).status).toBe(404);
    expect((await at(started(state).http, session).call(1, 'who')).status).toBe(404);
    expect((await json(at(started(state, 'ann').http, session).call(1, 'who'))).result).toBeDefined();
  });
});

test('the first requests of a client may come together', async () => {
  const state = memoryState();
  const session = await started(state).http.open();
  const { http, seen } = started(state);
  const answers = await Promise.all([1, 2, 3].map((id) => json(at(http, session).call(id, 'who'))));
  expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(seen.filter(({ method }) => method === Method.Discover)).toHaveLength(1);
});

test('a process that stops in an orderly way leaves its sessions, and the last events of their calls', async () => {
  const state = memoryState();
  const { http } = started(state);
  const session = await http.open();
  const events = new Events(await session.call(1, 'talk', { forever: true }));
  const { id } = (await events.next())!;
  await http.handler.close();
  const last = (await events.rest()).at(-1)!;
  const again = at(started(state).http, session);
  const rest = (await (await again.events(id)).rest()).filter(({ data }) => data);
  expect(rest.at(-1)).toEqual(last);
  expect((await json(again.call(2, 'who'))).result).toBeDefined();
});

test('a session that was idle for too long is removed from the store', async () => {
  const state = memoryState();
  const { service } = scripted({ [Method.Discover]: () => ({ capabilities, serverInfo }) });
  const http = new TestHttp(service, { state, idleTimeout: 300 });
  const session = await http.open();
  await expect.poll(() => http.handler.sessions).toBe(0);
  expect((await session.call(1, 'who')).status).toBe(404);
});

test('what cannot be stored is not answered as done', async () => {
  const state = memoryState();
  const full: State = {
    ...state,
    sessions: {
      ...state.sessions,
      put: state.sessions.put.bind(state.sessions),
      get: state.sessions.get.bind(state.sessions),
      change: () => Promise.reject(new Error('disk full')),
    },
  };
  const { http } = started(full);
  const session = await http.open();
  expect((await json(session.call(1, 'logging/setLevel', { level: 'error' }))).error).toEqual({
    code: -32_603,
    message:
      'The log level or subscription has changed, but the change could not be stored: it is lost when the server restarts',
  });
});

test('what the requests of a batch change is stored in few writes', async () => {
  const state = memoryState();
  const { sessions } = state;
  let writes = 0;
  const counting: State = {
    ...state,
    sessions: {
      get: (id) => sessions.get(id),
      put: (id, record) => sessions.put(id, record),
      change: (id, change) => {
        writes += 1;
        return sessions.change(id, change);
      },
      touch: (ids) => sessions.touch(ids),
      delete: (id) => sessions.delete(id),
    },
  };
  const session = await started(counting).http.open('2025-03-26');
  const uris = Array.from({ length: 500 }, (_, n) => `a:${n}`);
  const batch = uris.map((uri, id) => ({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri } }));
  const answers = (await json(session.post(batch))) as { result?: unknown }[];
  expect(answers.filter(({ result }) => result)).toHaveLength(500);
  expect(writes).toBeLessThan(5);
  await json(session.call('last', 'resources/unsubscribe', { uri: 'a:0' }));
  const { http, subscribers } = started(state);
  await json(at(http, session).call(1, 'who'));
  await settled();
  const subscribed = subscribers.flatMap(({ params }) => params['notifications'].resourceSubscriptions ?? []);
  expect(subscribed).toEqual(uris.slice(1));
});

test.each([['ann', 'bob'], [undefined]])(
  'sessions of %s and others count towards different shares',
  async (...names) => {
    const state = memoryState();
    const shares = new Set<string | undefined>();
    const { sessions } = state;
    const put: typeof sessions.put = async (id, record) => {
      shares.add(record.share);
      expect(record.share).toMatch(/^[\w-]{22}$/);
      return sessions.put(id, record);
    };
    const seen: State = { ...state, sessions: { ...sessions, put } };
    for (const name of [...names, ...names]) await started(seen, name).http.open();
    expect(shares.size).toBe(names.length);
  },
);

test('initialize does not wait for the store', async () => {
  const state = memoryState();
  const put = deferred();
  const slow: State = { ...state, sessions: { ...state.sessions, put: () => put.promise } };
  expect((await started(slow).http.open()).id).toEqual(expect.any(String));
  put.resolve();
});

const NOT_CONTINUED = {
  status: 503,
  retryAfter: '5',
  error: {
    code: -32_000,
    message: 'The session cannot be continued now, because its store does not answer; try again later',
    data: NOT_EXECUTED,
  },
};

const outcomeOf = async (response: Response) => {
  const { error } = (await response.json()) as { error: unknown };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), error };
};

test('a session that cannot be read now is refused, and goes on with the next request', async () => {
  const state = memoryState();
  const session = await started(state).http.open();
  const { http } = started(state);
  const again = at(http, session);
  vi.spyOn(state.sessions, 'get').mockRejectedValueOnce(new Error('connect ECONNREFUSED store.internal'));
  expect(await outcomeOf(await again.call(1, 'who'))).toEqual(NOT_CONTINUED);
  expect(http.errors.map(({ message }) => message)).toEqual(['connect ECONNREFUSED store.internal']);
  expect((await json(again.call(2, 'who'))).result.client.name).toBe('test');
});

test('a session whose events cannot be read now is refused, and goes on with the next request', async () => {
  let broken = false;
  const state = memoryState();
  const events = logWith(
    (log) => ({
      unfinished: (session) => (broken ? Promise.reject(new Error('disk full')) : log.unfinished(session)),
    }),
    state.events,
  );
  const session = await started(state).http.open();
  const { http } = started({ ...state, events });
  const again = at(http, session);
  broken = true;
  const refused = await again.call(1, 'who');
  expect(await outcomeOf(refused)).toEqual(NOT_CONTINUED);
  expect(http.errors.map(({ message }) => message)).toEqual(['disk full']);
  broken = false;
  expect((await json(again.call(2, 'who'))).result.client.name).toBe('test');
});

test('a session that cannot be opened now is refused for now, and goes on with the next request', async () => {
  const state = memoryState();
  const session = await started(state).http.open();
  let broken = true;
  const { service } = scripted({
    [Method.Discover]: () => {
      if (broken) throw new Error('the server behind this one is away');
      return { capabilities, serverInfo };
    },
    who: () => ({ here: true }),
  });
  const again = at(new TestHttp(service, { state, grace: 0 }), session);
  const refused = await Promise.all([again.call(1, 'who'), again.get(), again.delete()]);
  for (const response of refused) {
    const { status, retryAfter, error } = await outcomeOf(response);
    expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: '1' });
    expect(error).toMatchObject({ message: expect.stringContaining('not open at this process'), data: NOT_EXECUTED });
  }
  broken = false;
  expect((await json(again.call(2, 'who'))).result).toMatchObject({ here: true });
});

test('a result that the event log cannot store still reaches its caller', async () => {
  let full = false;
  const events = logWith((log) => ({
    append: (...event) => (full ? Promise.reject(new Error('disk full')) : log.append(...event)),
  }));
  const { http } = started({ events });
  const session = await http.open();
  full = true;
  const got = await new Events(await session.call(1, 'talk')).rest();
  expect(got.filter(({ data }) => data).map(({ id, data }) => [id, JSON.parse(data!).id])).toEqual([[undefined, 1]]);
});
