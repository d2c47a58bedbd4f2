import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openRaw } from '../../../../../test/support/http.ts';
import { deferred } from '../../../../../test/support/service.ts';
import { nextTurn } from '../../../../base/wait.ts';
import { memoryEventLog } from '../../../../store/memory.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const filler = 'x'.repeat(4 * 1024 * 1024);
const notice = (n: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/n', params: { n, filler } });

test('at most 64 MiB of messages wait for a slow log, and what is dropped is reported once', async () => {
  const { promise: isFast, resolve: goOn } = deferred();
  const events = memoryEventLog();
  const { append } = events;
  let isSlow = false;
  let appended = 0;
  events.append = (...given) => {
    const [, , message] = given;
    if (message === undefined || !isSlow) return append.apply(events, given);
    appended += 1;
    return isFast.then(() => append.apply(events, given));
  };
  const { session, server } = await openRaw({ state: { events }, keepAlive: 0 });
  const errors: string[] = [];
  server.onerror = (error: Error) => errors.push(error.message);
  const reply = session
    .post({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'a' } })
    .then((response) => response.text());
  await nextTurn();
  // The response then comes on a stream, which is in the log.
  await server.send({ jsonrpc: '2.0', method: 'notifications/n' }, { relatedRequestId: 'call' });
  isSlow = true;
  const sent = Array.from({ length: 30 }, (_, n) => server.send(notice(n)));
  const question = { jsonrpc: '2.0' as const, id: 1, method: 'elicitation/create', params: { filler } };
  await expect(server.send(question)).rejects.toThrow(
    'elicitation/create was not sent: the messages that wait to be stored take too much memory',
  );
  expect(errors).toEqual(['Notifications were dropped: the messages that wait to be stored take too much memory']);
  const answered = server.send({ jsonrpc: '2.0', id: 'call', result: { filler } });
  goOn();
  await Promise.all([...sent, answered]);
  expect(await reply).toContain('"id":"call"');
  expect(appended).toBe(17);
  await server.send(notice(30));
  expect(appended).toBe(18);
  expect(errors).toHaveLength(1);
});

test('large messages that a log refuses at once are refused in several turns of the event loop', async () => {
  const events = memoryEventLog();
  const { append } = events;
  let turn = 0;
  const turns = new Set<number>();
  events.append = async (...given) => {
    if (given[2] === undefined) return append.apply(events, given);
    turns.add(turn);
    throw new Error('unreachable');
  };
  const { server } = await openRaw({ state: { events }, keepAlive: 0 });
  let isOver = false;
  const sent = Array.from({ length: 10 }, (_, n) => server.send(notice(n)).catch(() => {}));
  void Promise.all(sent).then(() => (isOver = true));
  for (; !isOver; turn += 1) await nextTurn();
  // The second one follows the first at once.
  expect(turns.size).toBe(9);
});
