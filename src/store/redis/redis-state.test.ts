import { createClient, createClientPool, createCluster, createSentinel, defineScript } from '@redis/client';
import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { badProxy, type BadNetwork } from '../../../test/support/redis-server.ts';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { eventLogSuite } from '../../testing/contracts/event-log-suite.ts';
import { sessionStoreSuite } from '../../testing/contracts/session-store-suite.ts';
import { taskStoreSuite } from '../../testing/contracts/task-store-suite.ts';
import { errorResponse, resultResponse, notification } from '../../jsonrpc/message.ts';
import { EventsPurged } from '../event-log.ts';
import type { TaskRecord } from '../task-store.ts';
import { Commands, StoreUnreachable, type RedisClient } from './commands.ts';
import { openRedis } from './open-redis.ts';
import { redisState, type RedisState } from './redis-state.ts';

describeWithEmptyRedis('with a server', (redis) => {
  let ioredis: Redis;
  let textual: Redis;
  beforeAll(() => {
    ioredis = new Redis(redis.server.port);
    textual = new Redis(redis.server.port, { stringNumbers: true });
  });
  afterAll(() => {
    ioredis.disconnect();
    textual.disconnect();
  });

  /** Each key expires, also after any test of a contract. */
  async function checkKeys(): Promise<void> {
    for (const key of await redis.admin.keys('*')) {
      expect(key).toMatch(/^\{everwire\}:/);
      expect(await redis.admin.pTTL(key), key).toBeGreaterThan(0);
    }
  }

  for (const [name, client] of [
    ['@redis/client', (): RedisClient => redis.admin],
    ['ioredis', (): RedisClient => ioredis],
    ['ioredis, which gives numbers as texts', (): RedisClient => textual],
  ] as const) {
    describe(`the contracts over ${name}`, () => {
      const suites = {
        events: eventLogSuite((events) => redisState(client(), { events }).events),
        sessions: sessionStoreSuite((sessions) => redisState(client(), { sessions }).sessions),
        tasks: taskStoreSuite((tasks) => redisState(client(), { tasks }).tasks),
      };
      for (const [kind, suite] of Object.entries(suites))
        for (const each of suite)
          test(`${kind}: ${each.name}`, async () => {
            await each.run();
            await checkKeys();
          });
    });
  }

  /** A state whose connection goes through a bad proxy. */
  async function through(network: BadNetwork, timeout = 5000) {
    const proxy = await badProxy(redis.server.port, () => network);
    onTestFinished(() => proxy.stop());
    const client = await openRedis(proxy.url, timeout);
    onTestFinished(() => client.close());
    return client;
  }

  /** All cases of the contracts. */
  const cases = (client: () => RedisClient | Promise<RedisClient>) => [
    ...eventLogSuite(async (events) => redisState(await client(), { events }).events),
    ...sessionStoreSuite(async (sessions) => redisState(await client(), { sessions }).sessions),
    ...taskStoreSuite(async (tasks) => redisState(await client(), { tasks }).tasks),
  ];

  test('tasks learn that Redis has lost its newest changes from an older heartbeat', async () => {
    const state = redisState(redis.admin);
    onTestFinished(() => state.close());
    const onlost = vi.fn<() => void>();
    const end = state.tasks.onlost!(onlost);
    await expect.poll(() => redis.admin.get(`{everwire}:n:${state.node}`)).toMatch(/^[3-9]/);
    expect(onlost).not.toHaveBeenCalled();
    await redis.admin.set(`{everwire}:n:${state.node}`, '1');
    await expect.poll(() => onlost.mock.calls.length).toBe(1);
    end();
  });

  test('several processes write one stream, and each reads what all have written', async () => {
    const logs = [0, 1, 2].map(() => redisState(redis.admin).events);
    const [first] = await Promise.all(logs.map((log) => log.open('s', '0')));
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, n) => logs[n % 3]!.append('s', '0', { jsonrpc: '2.0', method: `m${n}` })),
    );
    for (const log of logs) {
      const read: string[] = [];
      for await (const { id } of log.after('s', first!)) read.push(id);
      expect(new Set(read)).toEqual(new Set(ids));
    }
  });

  test('a slow network that splits everything changes nothing', async () => {
    const client = await through({ delay: 1, split: 1000 });
    for (const { name, run } of cases(() => client)) {
      await redis.admin.flushAll();
      const failure = await run().catch((error: unknown) => error);
      expect(failure, name).toBeUndefined();
    }
  });

  test('if connections are cut, each call ends with a result or with an error that says so', async () => {
    let cut = 0;
    const failures: unknown[] = [];
    const client = await through({
      get cutAfter() {
        return 300 + ((cut += 37) % 400);
      },
    });
    for (const { run } of cases(() => client)) {
      await redis.admin.flushAll();
      await run().catch((error: unknown) => failures.push((error as { actual?: unknown }).actual ?? error));
    }
    for (const failure of failures) expect(failure).toBeInstanceOf(StoreUnreachable);
    expect(failures).not.toEqual([]);
  });

  test('if nothing is answered, calls end after the time limit, and later ones succeed', async () => {
    await redisState(redis.admin).sessions.put('s', { initialize: {} });
    const network: { silent: boolean } = { silent: false };
    const client = await through(network, 200);
    const state = redisState(client, { timeout: 400 });
    expect(state.reachable).toBe(true);
    network.silent = true;
    const calls = [
      state.sessions.get('s'),
      state.sessions.change('s', (settings) => settings),
      state.events.open('s', '1'),
      state.tasks.get('t', undefined),
    ];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreUnreachable' } });
    expect(state.reachable).toBe(false);
    network.silent = false;
    await expect.poll(() => state.sessions.get('s').catch(() => 'unreachable')).toEqual({ initialize: {} });
    expect(state.reachable).toBe(true);
  });

  test('a connection that is opened again is given up if nobody answers there', async () => {
    let [silent, swallowed] = [false, 0];
    const network: BadNetwork = {
      get silent() {
        if (silent) swallowed += 1;
        return silent;
      },
    };
    const client = await through(network, 200);
    const ping = (): Promise<unknown> => client.sendCommand(['PING']).catch(() => 'unreachable');
    silent = true;
    expect(await ping()).toBe('unreachable');
    // The command, and then the beginning of the next connection.
    await expect.poll(() => swallowed).toBeGreaterThan(1);
    silent = false;
    await expect.poll(ping, { timeout: 30_000 }).toBe('PONG');
  });

  test('the secret of a session is not stored', async () => {
    const { sessions, events } = redisState(redis.admin);
    const id = 'the-secret-session-id';
    await sessions.put(id, { initialize: {} });
    await events.open(id, '1', [1]);
    await events.append(id, '1', notification('n'));
    const stored: string[] = [];
    for (const key of await redis.admin.keys('*')) {
      const type = await redis.admin.type(key);
      if (type === 'hash') stored.push(JSON.stringify(await redis.admin.hGetAll(key)));
      else if (type === 'zset') stored.push(JSON.stringify(await redis.admin.zRange(key, 0, -1)));
      else if (type === 'stream') stored.push(JSON.stringify(await redis.admin.xRange(key, '-', '+')));
      else stored.push(String(await redis.admin.get(key)));
      stored.push(key);
    }
    expect(stored.length).toBeGreaterThan(10);
    expect(stored.join('\n')).not.toContain(id);
  });

  test('sessions with other prefixes are others', async () => {
    const one = redisState(redis.admin);
    const two = redisState(redis.admin, { prefix: 'two' });
    await one.sessions.put('s', { initialize: {} });
    expect(await two.sessions.get('s')).toBeUndefined();
  });

  test('all sessions together keep a limited number of bytes of events', async () => {
    const { events } = redisState(redis.admin, { events: { maxTotalBytes: 100_000 } });
    const first = await events.append('large', '1', notification('n', { text: 'x'.repeat(10_000) }));
    for (let n = 0; n < 7; n += 1) await events.append('large', '1', notification('n', { text: 'x'.repeat(10_000) }));
    const small = await events.append('small', '1', notification('n'));
    await events.append('small', '1', notification('n', { text: 'x'.repeat(30_000) }));
    expect(Number(await redis.admin.get('{everwire}:et'))).toBeLessThanOrEqual(90_000);
    await expect(events.after('large', first)[Symbol.asyncIterator]().next()).rejects.toThrow('no longer available');
    expect(await events.after('small', small)[Symbol.asyncIterator]().next()).toMatchObject({ done: false });
    for (const session of ['large', 'small']) await events.drop(session);
    expect(await redis.admin.get('{everwire}:et')).toBe('0');
  });

  test('what has expired does not count any more', async () => {
    const clock = { now: 1_700_000_000_000 };
    const now = (): number => clock.now;
    const { sessions, events, tasks } = redisState(redis.admin, {
      ...{ sessions: { now, maxAge: 1000 }, events: { now, maxAge: 1000 }, tasks: { now } },
    });
    await sessions.put('a', { initialize: {} });
    await events.append('a', '1', notification('n'));
    const task = { id: 't', runner: 'r', status: 'working', createdAt: clock.now, lastUpdatedAt: clock.now } as const;
    await tasks.create({ ...task, ttlMs: 1000, pollIntervalMs: 1 });
    // Their own keys expire, those of what is known about all of them do not.
    const own = (await redis.admin.keys('*')).filter((key) => /:[ert]:/.test(key));
    expect(own).toHaveLength(3);
    await redis.admin.del(own);
    clock.now += 2000;
    await sessions.put('b', { initialize: {} });
    await events.append('b', '1', notification('n'));
    await tasks.create({ ...task, id: 'u', createdAt: clock.now, ttlMs: 1000, pollIntervalMs: 1 });
    expect(await redis.admin.zCard('{everwire}:ru')).toBe(1);
    expect(await redis.admin.zCard('{everwire}:eb')).toBe(1);
    expect(await redis.admin.zCard('{everwire}:tu')).toBe(1);
    await sessions.delete('b');
    await tasks.delete('u', undefined);
    for (const key of ['rt', 'tt', 'et']) expect(await redis.admin.get(`{everwire}:${key}`), key).toBe('0');
  });

  test('a process whose clock is wrong keeps tasks as long as others, and removes none of them', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { tasks } = redisState(redis.admin);
    const [right, wrong] = [Date.now(), Date.now() + 86_400_000];
    const task = (id: string, ttlMs: number | null) => {
      const now = Date.now();
      const times = { createdAt: now, lastUpdatedAt: now, ttlMs, pollIntervalMs: 1 };
      return { id, runner: 'r', status: 'working', ...times } as const;
    };
    /** Minutes until the tasks expire. */
    const left = async (): Promise<number[]> => {
      const found = await redis.admin.zRangeWithScores('{everwire}:tu', 0, -1);
      return found.map(({ score }) => Math.round((score - right) / 60_000));
    };
    await tasks.create(task('a', 3_600_000));
    vi.setSystemTime(wrong);
    await tasks.create(task('b', 3_600_000));
    expect(await tasks.get('a', undefined)).toMatchObject({ id: 'a' });
    const later = (change: object) => (found: TaskRecord) => ({ ...found, ...change, lastUpdatedAt: Date.now() });
    await tasks.update('a', undefined, later({ statusMessage: 'x' }));
    vi.setSystemTime(right);
    await tasks.update('b', undefined, later({ statusMessage: 'x' }));
    expect(await left()).toEqual([60, 60]);
    const unfinished: string[] = [];
    for await (const { id } of tasks.unfinished('r')) unfinished.push(id);
    expect(unfinished.toSorted()).toEqual(['a', 'b']);
    await tasks.update('a', undefined, later({ ttlMs: 7_200_000 }));
    await tasks.update('b', undefined, later({ ttlMs: null }));
    expect(await left()).toEqual([120, 1440]);
  });

  test('nothing is appended to a stream that has ended', async () => {
    const { events } = redisState(redis.admin);
    await events.open('s', '1', [1]);
    await events.append('s', '1', resultResponse(1, {}));
    await expect(events.append('s', '1', notification('late'))).rejects.toThrow('The stream has ended');
  });

  test('if Redis loses its data, a stream that goes on has new event ids, and older ones are unknown', async () => {
    let now = 1000;
    const { events } = redisState(redis.admin, { events: { now: () => now } });
    await events.open('s', '1', ['call']);
    const before = await events.append('s', '1', notification('n'));
    await redis.admin.flushAll();
    now += 1;
    const after = await events.append('s', '1', notification('n'));
    await events.append('s', '1', notification('n'));
    await events.append('s', '1', notification('n'));
    const numberOf = (id: string): number => Number(id.split('-')[1]);
    expect(numberOf(after)).toBeGreaterThan(numberOf(before));
    expect(await events.find('s', before)).toBeUndefined();
    await expect(events.after('s', before)[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(EventsPurged);
  });

  test('if Redis loses the newest event, its id is not used again, and who has read it learns that others are lost', async () => {
    const { events } = redisState(redis.admin);
    const first = await events.open('s', '1', ['call']);
    // Those of the event log. Others may expire in between.
    const keys = await redis.admin.keys('{everwire}:[els]*');
    const saved = await Promise.all(keys.map(async (key) => [key, await ioredis.dumpBuffer(key)] as const));
    const lost = await events.append('s', '1', notification('lost'));
    await Promise.all(saved.map(([key, value]) => ioredis.restore(key, 60_000, value, 'REPLACE')));
    // The id contains the millisecond. Another server takes over later than in the same one.
    const then = Date.now();
    await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(then + 1);
    const after = await events.append('s', '1', notification('after'));
    expect(after).not.toBe(lost);
    const next = (id: string): Promise<unknown> => events.after('s', id)[Symbol.asyncIterator]().next();
    await expect(next(lost)).rejects.toBeInstanceOf(EventsPurged);
    expect(await next(first)).toMatchObject({ value: { id: after } });
  });

  test('if Redis loses its data, another process can still end the calls of a stream that went on', async () => {
    const { events } = redisState(redis.admin);
    const other = redisState(ioredis).events;
    await events.open('s', '1', ['first', 'second', 'third']);
    await events.append('s', '1', resultResponse('first', {}));
    await redis.admin.flushAll();
    const last = await events.append('s', '1', resultResponse('third', {}));
    expect(await other.unfinished('s')).toEqual([{ stream: '1', requests: ['second'] }]);
    await other.end('s', '1', { code: -1, message: 'gone' });
    const rest: unknown[] = [];
    for await (const { message } of events.after('s', last)) rest.push(message);
    expect(rest).toEqual([errorResponse('second', { code: -1, message: 'gone' })]);
  });

  test('if several processes end a stream at once, each of its requests gets one error', async () => {
    const [one, two] = [redisState(redis.admin).events, redisState(ioredis).events];
    const requests = Array.from({ length: 20 }, (_, id) => id);
    const first = await one.open('s', '1', requests);
    const failure = { code: -32_000, message: 'gone' };
    await Promise.all([one, two, one, two].map((events) => events.end('s', '1', failure)));
    const found: unknown[] = [];
    for await (const { message } of one.after('s', first)) found.push(message);
    expect(found).toEqual(requests.map((id) => errorResponse(id, failure)));
    await expect(one.append('s', '1', notification('late'))).rejects.toThrow('The stream has ended');
  });

  test('a full Redis refuses what it is told', async () => {
    const state = redisState(redis.admin);
    await state.sessions.put('s', { initialize: {} });
    await redis.admin.configSet('maxmemory', '1');
    onTestFinished(async () => void (await redis.admin.configSet('maxmemory', '0')));
    await expect(state.sessions.put('t', { initialize: {} })).rejects.toThrow('Redis has refused a command: OOM');
    await expect(state.events.append('s', '1', undefined)).rejects.toThrow('Redis has refused a command: OOM');
    expect(await state.sessions.get('s')).toEqual({ initialize: {} });
    await state.sessions.delete('s');
    expect(await redis.admin.keys('{everwire}:r:*')).toEqual([]);
  });

  test.each([
    ['a client of each kind', () => [redis.admin, ioredis]],
    ['clients that give numbers as texts', () => [textual, textual]],
  ] as const)('another process is faster, with %s', async (_name, clients) => {
    const [one, two] = clients().map((client) => redisState(client)) as [RedisState, RedisState];
    await one.sessions.put('s', { initialize: {} });
    const marks = Array.from({ length: 20 }, (_, n) => `a:${n}`);
    await Promise.all(
      marks.map((mark, n) =>
        (n % 2 === 0 ? one : two).sessions.change('s', (settings) => ({
          resources: [...(settings.resources ?? []), mark],
        })),
      ),
    );
    expect((await one.sessions.get('s'))?.resources?.toSorted()).toEqual(marks.toSorted());
  });
});

test('what is no client is refused', () => {
  expect(() => redisState({} as RedisClient)).toThrow('A Redis client must have the method sendCommand or call');
  const client: RedisClient = { sendCommand: () => Promise.resolve() };
  for (const options of [{ sessions: { maxAge: -1 } }, { events: { maxEvents: -1 } }, { tasks: { maxTasks: -1 } }])
    expect(() => redisState(client, options)).toThrow('must be 0 or more, not -1');
});

test('a client with several connections is refused, because its commands lose their order', async () => {
  const endpoint = { host: '127.0.0.1', port: 1 };
  const cluster = new Cluster([endpoint], { lazyConnect: true });
  const clients: unknown[] = [
    createClientPool(),
    createCluster({ rootNodes: [{ socket: endpoint }] }),
    createSentinel({ name: 'main', sentinelRootNodes: [endpoint] }),
    cluster,
  ];
  for (const client of clients)
    expect(() => redisState(client as RedisClient)).toThrow('A Redis client must have one connection');
  cluster.disconnect();
});

test('a client with scripts of its own is accepted, whatever their names are', () => {
  const script = defineScript({
    SCRIPT: 'return 1',
    NUMBER_OF_KEYS: 0,
    parseCommand: () => {},
    transformReply: undefined as unknown as () => number,
  });
  const client = createClient({ scripts: { acquire: script, execute: script } });
  const defined = new Redis({ lazyConnect: true });
  for (const name of ['acquire', 'execute']) defined.defineCommand(name, { lua: 'return 1' });
  for (const each of [client, defined]) expect(() => new Commands(each as RedisClient, 'p', 1000)).not.toThrow();
  defined.disconnect();
});

test('the address of a server that cannot be reached is shown without credentials', async () => {
  const opened = openRedis('redis://ann:secret@127.0.0.1:1/3', 1000);
  await expect(opened).rejects.toThrow(
    'The store redis://127.0.0.1:1/3 cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
  );
});
