import { request as httpRequest } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { garbageCollector } from '../../../../../test/support/garbage-collector.ts';
import { Events, TestHttp, TestSession } from '../../../../../test/support/http.ts';
import { deferred, scripted, settled } from '../../../../../test/support/service.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { Service } from '../../../../core/exchange.ts';
import { serve } from '../../../../wire/serve.ts';
import { listen } from '../listen.ts';
import { SessionSeal } from './session-seal.ts';

const sessionKey = 'a secret of enough bytes';
const CHANGED = 'notifications/tools/list_changed';

const capabilities = { tools: { listChanged: true }, prompts: {}, resources: { listChanged: true, subscribe: true } };
const serverInfo = { name: 'server', version: '1' };
const talkative = (): { service: Service; seen: ReturnType<typeof scripted>['seen'] } =>
  scripted({
    [Method.Discover]: () => ({ capabilities, serverInfo }),
    talk: async (exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'first' });
      return {};
    },
    who: ({ caller }) => ({ revision: caller.revision, client: caller.clientInfo, can: caller.capabilities }),
  });

/** A process that serves. Those with the same key revive each other's sessions. */
function started(options: ConstructorParameters<typeof TestHttp>[1] = {}) {
  const { service, seen } = talkative();
  return { http: new TestHttp(service, { sessionKey, ...options }), seen };
}

/** The same client, which now reaches another process. */
const at = (http: TestHttp, { id, headers }: TestSession): TestSession =>
  new TestSession(http, id, headers['mcp-protocol-version'] ?? '2024-11-05');

const json = async (response: Promise<Response>): Promise<any> => (await response).json();

test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'another process with the key goes on with a session of %s',
  async (revision) => {
    const session = await started().http.open(revision, { roots: {} });
    const { http } = started();
    expect(await json(at(http, session).call(1, 'who'))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { revision, client: { name: 'test', version: '1' }, can: { roots: {} } },
    });
    expect(http.handler.sessions).toBe(1);
    expect(http.errors).toEqual([]);
  },
);

test('the first requests of a client may come together', async () => {
  const session = await started().http.open();
  const { http, seen } = started();
  const again = at(http, session);
  const answers = await Promise.all([1, 2, 3].map((id) => json(again.call(id, 'who'))));
  expect(answers.map(({ id, result }) => [id, result.revision])).toEqual([1, 2, 3].map((id) => [id, '2025-11-25']));
  expect(http.handler.sessions).toBe(1);
  expect(seen.filter(({ method }) => method === Method.Discover)).toHaveLength(1);
});

/** A client whose next process needs time to open the session. */
async function opening() {
  const session = await started().http.open();
  const open = deferred();
  const { service } = scripted({
    [Method.Discover]: () => open.promise.then(() => ({ capabilities, serverInfo })),
    who: () => ({ here: true }),
  });
  const again = at(new TestHttp(service, { sessionKey }), session);
  return { again, open };
}

test('a request waits until the session is open', async () => {
  const { again, open } = await opening();
  const answer = json(again.call(1, 'who'));
  await settled();
  open.resolve();
  expect(await answer).toMatchObject({ id: 1, result: { here: true } });
});

test('only so many requests wait until a session is open', async () => {
  const { again, open } = await opening();
  const statuses = Array.from({ length: 876 }, (_, id) => again.call(id, 'who').then(({ status }) => status));
  // The refusal does not wait.
  expect(await Promise.race(statuses)).toBe(503);
  open.resolve();
  const all = await Promise.all(statuses);
  expect(all.filter((status) => status === 200)).toHaveLength(875);
  expect((await again.call('later', 'who')).status).toBe(200);
});

test('few of the requests that have waited go on in each turn of the event loop', async () => {
  const session = await started().http.open();
  const open = deferred();
  let ran = 0;
  const { service } = scripted({
    [Method.Discover]: () => open.promise.then(() => ({ capabilities, serverInfo })),
    who: () => {
      ran += 1;
      return {};
    },
  });
  const again = at(new TestHttp(service, { sessionKey }), session);
  let left = 500;
  const answers = Array.from({ length: left }, (_, id) => again.call(id, 'who').finally(() => (left -= 1)));
  for (let turn = 0; turn < 200; turn += 1) await setImmediate();
  open.resolve();
  let most = 0;
  while (left > 0) {
    const before = ran;
    await setImmediate();
    most = Math.max(most, ran - before);
  }
  await Promise.all(answers);
  expect(ran).toBe(500);
  expect(most).toBeLessThan(50);
});

test('a request that has waited behind the end of the session is refused', async () => {
  const { again, open } = await opening();
  const first = again.call(1, 'who');
  await settled();
  const others = [again.delete(), again.get(), again.call(2, 'who')];
  await settled();
  open.resolve();
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual([204, 404, 404]);
  await first;
});

test('an answer that came too late for its process is refused', async () => {
  const session = await started().http.open();
  const { http } = started();
  const refused = await at(http, session).post({ jsonrpc: '2.0', id: 7, result: {} });
  expect([refused.status, (await json(Promise.resolve(refused))).error.message]).toEqual([
    400,
    'The server was restarted since it asked this, so nothing waits for the answer; call again',
  ]);
});

describe('not revived is', () => {
  test('a session without a key', async () => {
    const session = await started({ sessionKey: undefined }).http.open();
    expect((await at(started().http, session).call(1, 'who')).status).toBe(404);
  });

  test('a session of another principal', async () => {
    const session = await started().http.open();
    const { http } = started();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'who' });
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id };
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, body });
    expect((await http.fetch(request, { principal: 'bob' })).status).toBe(404);
    expect(http.handler.sessions).toBe(0);
  });

  test('a session that its client ended', async () => {
    const { http } = started();
    const session = await http.open();
    await session.delete();
    expect((await session.call(1, 'who')).status).toBe(404);
    const revived = at(started().http, await http.open());
    await revived.delete();
    expect((await revived.call(1, 'who')).status).toBe(404);
  });

  test('a session, if the service does not accept it', async () => {
    const session = await started().http.open();
    const onsession = (): never => {
      throw new Error('not now');
    };
    const { http } = started({ onsession });
    expect((await at(http, session).call(1, 'who')).status).toBe(404);
    expect(http.errors.map(({ message }) => message)).toEqual(['not now']);
    expect(http.handler.sessions).toBe(0);
  });

  test('a session, if initialize fails now', async () => {
    const session = await started().http.open();
    const { service } = scripted({ [Method.Discover]: () => Promise.reject(new Error('broken')) });
    const http = new TestHttp(service, { sessionKey });
    expect((await at(http, session).call(1, 'who')).status).toBe(404);
    expect(http.handler.sessions).toBe(0);
  });
});

test('a session keeps no other headers of the request that revived it', async () => {
  const collect = garbageCollector();
  // It keeps nothing itself.
  const service: Service = () => Promise.resolve({ capabilities, serverInfo });
  await using http = await listen({ port: 0, sessionKey, onsession: (transport) => serve(service, transport) });
  const seal = new SessionSeal(sessionKey);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const end = (filler: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { 'mcp-session-id': seal.seal(params, undefined), filler };
      const sent = httpRequest(http.url, { method: 'DELETE', headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      sent.on('error', reject).end();
    });
  expect(await end('')).toBe(204);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let count = 0; count < 500; count += 1) await end('x'.repeat(12_000));
  await setImmediate();
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3_000_000);
});

test('a full table refuses a session for now', async () => {
  const session = await started().http.open();
  const { http } = started({ maxSessions: 1 });
  const other = await http.open();
  await other.events();
  const refused = await at(http, session).call(1, 'who');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
});

test('while a process shuts down, it sends the client to the next one', async () => {
  const session = await started().http.open();
  const { http } = started();
  http.handler.drain();
  const refused = await at(http, session).call(1, 'who');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
});

describe('a client that resumes its stream', () => {
  const resumed = async (session: TestSession, lastEventId: string | undefined): Promise<Events> =>
    session.events(lastEventId);

  test('goes on, and is told that lists may have changed, once', async () => {
    const session = await started().http.open();
    const before = await session.events();
    const priming = (await before.next())!.id!;
    await before.cancel();
    const { http } = started();
    const events = await resumed(at(http, session), priming);
    const methods = [(await events.message()).method, (await events.message()).method];
    expect(methods).toEqual([CHANGED, 'notifications/resources/list_changed']);
    await http.handler.close();
    expect((await events.rest()).filter(({ data }) => data)).toEqual([]);
  });

  test('goes on in a third process too', async () => {
    let session = await started().http.open();
    let last: string | undefined;
    const ids = new Set<string>();
    for (let restarts = 0; restarts < 3; restarts += 1) {
      session = at(started().http, session);
      const events = await resumed(session, last);
      last = (await events.next())!.id!;
      expect(ids.has(last)).toBe(false);
      ids.add(last);
      expect((await events.message()).method).toBe(CHANGED);
      await events.cancel();
    }
  });

  test('resumes what this process sent', async () => {
    const session = await started().http.open();
    const again = at(started().http, session);
    const first = await again.events();
    const { id } = (await first.next())!;
    expect((await first.message()).method).toBe(CHANGED);
    await first.cancel();
    const second = await again.events(id);
    expect((await second.message()).method).toBe(CHANGED);
    await second.cancel();
  });

  test('of a call that the former process ran is told that it is lost', async () => {
    const former = await started().http.open();
    const response = await former.call(1, 'talk');
    const [{ id }] = (await new Events(response).rest()) as [{ id: string }];
    const again = at(started().http, former);
    expect((await again.get(id)).status).toBe(410);
    // The new process has a stream of a call with a number of its own.
    await (await again.call(1, 'talk')).text();
    expect((await again.get(id)).status).toBe(410);
  });
});
