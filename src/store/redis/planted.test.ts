import { expect, onTestFinished, test, vi } from 'vitest';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { notification } from '../../jsonrpc/message.ts';
import { EventsPurged } from '../event-log.ts';
import type { TaskRecord } from '../task-store.ts';
import { keyOfSession } from './events.ts';
import { redisState } from './redis-state.ts';

/** Somebody else writes keys that begin like those of the state. */

describeWithEmptyRedis('a key of another type', (redis) => {
  const clock = { now: 1_700_000_000_000 };
  const now = (): number => clock.now;

  function start() {
    const state = redisState(redis.admin, {
      sessions: { now, maxAge: 100_000, maxSessions: 5 },
      events: { now, maxAge: 50_000, maxTotalBytes: 20_000 },
      tasks: { now },
    });
    const end = () => state.close();
    onTestFinished(end);
    const append = (session: string) =>
      state.events.append(session, '1', notification('n', { text: 'x'.repeat(5000) }));
    const create = (id: string, runner: string): Promise<void> => {
      const times = { createdAt: clock.now, lastUpdatedAt: clock.now, ttlMs: 50_000, pollIntervalMs: 1 };
      return state.tasks.create({ id, runner, status: 'working', ...times } satisfies TaskRecord);
    };
    return { ...state, append, create, end };
  }

  async function plant(key: string): Promise<void> {
    expect(await redis.admin.del(key)).toBe(1);
    await redis.admin.set(key, 'planted');
  }

  async function keyLike(pattern: string): Promise<string> {
    const keys = await redis.admin.keys(pattern);
    expect(keys).toHaveLength(1);
    return keys[0]!;
  }

  const h = keyOfSession('planted');
  test.each(['r', 's', 'e', 'l', 'rs'])('of a session (%s) breaks no other session', async (kind) => {
    const { sessions, append } = start();
    await sessions.put('planted', { initialize: {}, share: 'one' });
    for (let n = 0; n < 2; n += 1) await append('planted');
    await plant(kind === 'rs' ? '{everwire}:rs:one' : `{everwire}:${kind}:${h}`);
    // It is the largest when there are too many events, then its events are too old, and then it is.
    for (const pause of [0, 60_000, 120_000]) {
      clock.now += pause;
      await sessions.put('other', { initialize: {}, share: 'two' });
      for (let n = 0; n < 8; n += 1) await append('other');
      expect(await sessions.get('other')).toEqual({ initialize: {}, share: 'two' });
    }
    expect(await sessions.get('planted').catch(String)).toBeUndefined();
  });

  test.each(['r', 'rs'])('of a session (%s) keeps no other session from being touched', async (kind) => {
    const { sessions } = start();
    for (const session of ['planted', 'other']) await sessions.put(session, { initialize: {}, share: session });
    await plant(kind === 'rs' ? '{everwire}:rs:planted' : `{everwire}:r:${h}`);
    clock.now += 60_000;
    await sessions.touch(['planted', 'other']);
    clock.now += 60_000;
    expect(await sessions.get('other')).toEqual({ initialize: {}, share: 'other' });
  });

  test('of a share breaks no other share when all sessions are taken', async () => {
    const { sessions } = start();
    for (const session of ['a', 'b', 'c']) await sessions.put(session, { initialize: {}, share: 'planted' });
    await plant('{everwire}:rs:planted');
    for (const session of ['d', 'e', 'f']) await sessions.put(session, { initialize: {}, share: 'other' });
    expect(await sessions.get('f')).toEqual({ initialize: {}, share: 'other' });
  });

  test('of a claim is replaced, and breaks no other claim', async () => {
    const { claims, end } = start();
    for (const key of ['planted', 'other']) await claims.claim(key);
    const [first] = (await redis.admin.keys('{everwire}:pin:*')).toSorted();
    await redis.admin.del(first!);
    await redis.admin.hSet(first!, 'planted', '1');
    // After a heartbeat that Redis has lost, all claims are renewed.
    await redis.admin.del(await keyLike('{everwire}:n:*'));
    await expect.poll(() => redis.admin.type(first!), { timeout: 30_000 }).toBe('string');
    for (const key of ['planted', 'other']) expect(claims.holds(key)).toBe(true);
    await end();
  });

  test.each(['t', 'tr'])('of a task (%s) breaks no other task', async (kind) => {
    const { tasks, create } = start();
    await create('planted', 'one');
    await plant(await keyLike(`{everwire}:${kind}:*`));
    for (const id of ['first', 'second']) {
      await create(id, 'two');
      expect(await tasks.get(id, undefined)).toMatchObject({ id });
      clock.now += 60_000;
    }
  });

  test('of all sessions is an error that says what is wrong', async () => {
    const { sessions } = start();
    await sessions.put('s', { initialize: {} });
    await plant('{everwire}:ru');
    await expect(sessions.put('t', { initialize: {} })).rejects.toThrow(
      'Redis has refused a command: something else has written a key that begins with {everwire}: WRONGTYPE',
    );
  });

  test('events with numbers that cannot be told apart are not read again and again', async () => {
    const { events } = start();
    const id = await events.append('planted', '1', undefined);
    const stream = { first: Number(id.slice(2)), last: 2 ** 53 + 2, ended: false };
    await redis.admin.hSet(`{everwire}:s:${h}`, '+1', JSON.stringify(stream));
    const fields = { s: '2', p: '1', a: `${2 ** 53}`, b: '1', m: '' };
    for (let n = 0; n < 500; n += 1) await redis.admin.xAdd(`{everwire}:e:${h}`, `${2 ** 53}-${n}`, fields);
    const read = vi.spyOn(redis.admin, 'sendCommand');
    await expect(events.after('planted', id)[Symbol.asyncIterator]().next()).rejects.toThrow(EventsPurged);
    expect(read.mock.calls.length).toBeLessThan(10);
  });

  test.each([
    ['session', 'r', 'record', 256 * 1024],
    ['session', 'r', 'settings', 256 * 1024],
    ['task', 't', 'text', 16 * 1024 * 1024],
  ] as const)('of a %s that is larger than one may be (%s: %s) is not parsed', async (_what, kind, field, most) => {
    const { sessions, tasks, create } = start();
    await sessions.put('planted', { initialize: {} });
    await create('planted', 'one');
    await redis.admin.hSet(await keyLike(`{everwire}:${kind}:*`), field, `{"x":"${'x'.repeat(most)}"}`);
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const message = 'Something else has written a key that begins with {everwire}';
    for (const read of kind === 't'
      ? [() => tasks.get('planted', undefined), () => tasks.unfinished('one')[Symbol.asyncIterator]().next()]
      : [() => sessions.get('planted')])
      await expect(read()).rejects.toThrow(message);
    for (const [text] of parse.mock.calls) expect(text.length).toBeLessThan(most);
  });
});
