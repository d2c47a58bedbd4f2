import { expect, test } from 'vitest';
import { logWith } from '../../../../../test/support/event-log.ts';
import { TestHttp, openRaw, type TestSession } from '../../../../../test/support/http.ts';
import { deferred, listening, scripted, settled } from '../../../../../test/support/service.ts';
import type { Exchange } from '../../../../core/exchange.ts';
import { memoryEventLog } from '../../../../store/memory.ts';

const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

/** A session and the subscription exchanges of its service. */
async function subscribedSession(
  revision = '2025-11-25',
  methods = {},
  options = {},
): Promise<{ session: TestSession; subscribers: Exchange[] }> {
  const subscribers: Exchange[] = [];
  const { service } = scripted({ 'subscriptions/listen': listening(subscribers), ...methods });
  const session = await new TestHttp(service, options).open(revision);
  await settled();
  return { session, subscribers };
}

const numbered = (n: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/n', params: { n } });

test('a message that belongs to no request is sent on the GET stream', async () => {
  const { session, subscribers } = await subscribedSession();
  const events = await session.events();
  await subscribers[0]!.notify('notifications/tools/list_changed');
  expect(await events.message()).toEqual(changed);
});

test('messages before the first GET are not lost', async () => {
  const { session, subscribers } = await subscribedSession();
  await subscribers[0]!.notify('notifications/tools/list_changed');
  await subscribers[0]!.notify('notifications/prompts/list_changed');
  const events = await session.events();
  expect(await events.message()).toEqual(changed);
  expect(await events.message()).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

test('messages between two connections are not lost', async () => {
  const { session, server } = await openRaw();
  const first = await session.events();
  await server.send(numbered(1));
  expect(await first.message()).toEqual(numbered(1));
  await first.cancel();
  await server.send(numbered(2));
  const second = await session.events();
  expect(await second.message()).toEqual(numbered(2));
});

test('each message is sent only on the newest of several GET streams', async () => {
  const { session, server } = await openRaw();
  const older = await session.events();
  const newer = await session.events();
  await server.send(numbered(1));
  expect(await newer.message()).toEqual(numbered(1));
  await newer.cancel();
  await server.send(numbered(2));
  expect(await older.message()).toEqual(numbered(2));
});

test('the oldest of more than eight GET streams is closed', async () => {
  const { session } = await openRaw();
  const streams = [];
  for (let count = 0; count < 9; count += 1) streams.push(await session.events());
  expect((await streams[0]!.rest()).map(({ data }) => data)).toEqual(['']);
});

test('the messages and the response of a request are on its own stream, not on the GET stream', async () => {
  const go = deferred();
  const { session, subscribers } = await subscribedSession('2025-11-25', {
    work: async (exchange: Exchange) => {
      await exchange.notify('notifications/message', { level: 'info', data: 'mine' });
      await go.promise;
      return { done: true };
    },
  });
  const events = await session.events();
  const reply = await session.call(1, 'work');
  go.resolve();
  const text = await reply.text();
  expect(text).toContain('"mine"');
  expect(text).toContain('"done":true');
  await subscribers[0]!.notify('notifications/tools/list_changed');
  expect(await events.message()).toEqual(changed);
});

test('messages of a request after its response are sent on the GET stream', async () => {
  const { service, seen } = scripted();
  const session = await new TestHttp(service).open();
  const events = await session.events();
  await session.call(1, 'echo');
  await seen.at(-1)!.notify('notifications/message', { level: 'info', data: 'later' });
  // Progress must stop with the response.
  await seen.at(-1)!.notify('notifications/progress', { progressToken: 1, progress: 1 });
  await seen.at(-1)!.notify('notifications/message', { level: 'info', data: 'last' });
  expect(await events.message()).toMatchObject({ params: { data: 'later' } });
  expect(await events.message()).toMatchObject({ params: { data: 'last' } });
});

test('if too many messages come before the first GET, the stream begins with the oldest stored one', async () => {
  const errors: Error[] = [];
  const { session, server } = await openRaw({ state: { events: memoryEventLog({ maxEvents: 3 }) } });
  server.onerror = (error: Error) => errors.push(error);
  for (let n = 1; n <= 10; n += 1) await server.send(numbered(n));
  const events = await session.events();
  for (const n of [8, 9, 10]) expect(await events.message()).toEqual(numbered(n));
  expect(errors.map(({ name }) => name)).toEqual(['EventsPurged']);
  await server.send(numbered(11));
  expect(await events.message()).toEqual(numbered(11));
});

test('an ended session keeps nothing', async () => {
  const appended: string[] = [];
  const dropped: string[] = [];
  const events = logWith((log) => ({
    append: (session, stream, message) => {
      appended.push(dropped.includes(session) ? 'late' : 'in time');
      return log.append(session, stream, message);
    },
    drop: (session) => {
      dropped.push(session);
      return log.drop(session);
    },
  }));
  const { server, session } = await openRaw({ state: { events } });
  const sent = [server.send(numbered(1)), server.send(numbered(2))];
  await session.delete();
  await Promise.all(sent);
  expect(dropped).toHaveLength(1);
  expect(appended).not.toContain('late');
  await expect(server.send(numbered(3))).rejects.toThrow('closed');
});

test('who asks does not learn what a log has said that fails', async () => {
  const text = "Redis has refused a command: OOM command not allowed when used memory > 'maxmemory'.";
  const log = logWith(() => ({ append: () => Promise.reject(new Error(text)) }));
  const errors: string[] = [];
  const { server } = await openRaw({ state: { events: log } });
  server.onerror = ({ message }) => void errors.push(message);
  const question = { jsonrpc: '2.0' as const, id: 1, method: 'elicitation/create', params: {} };
  await expect(server.send(question)).rejects.toMatchObject({
    code: -32603,
    message: 'elicitation/create was not sent: it could not be stored',
  });
  expect(errors).toContain(text);
});

test('a log that fails affects neither the handler nor other sessions', async () => {
  let broken = true;
  const log = logWith((working) => ({
    append: (...event) => (broken ? Promise.reject(new Error('disk full')) : working.append(...event)),
  }));
  const errors: Error[] = [];
  const { server, session } = await openRaw({ state: { events: log } });
  server.onerror = (error) => void errors.push(error);
  await expect(server.send(numbered(1))).rejects.toThrow('disk full');
  expect((await (await session.events()).rest()).length).toBe(0);
  expect(errors.length).toBeGreaterThan(0);
  broken = false;
  const other = await session.http.open();
  const events = await other.events();
  expect(await events.next()).toEqual({ id: expect.any(String), data: '' });
});
