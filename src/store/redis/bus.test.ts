import { createClient } from '@redis/client';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { badProxy, type BadNetwork } from '../../../test/support/redis-server.ts';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { deferred } from '../../../test/support/service.ts';
import { nextTurn } from '../../base/wait.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { busSuite } from '../../testing/contracts/bus-suite.ts';
import { NotTaken } from '../bus.ts';
import { BusMessages } from './bus-messages.ts';
import type { RedisClient } from './commands.ts';
import { newNodeId } from './node-id.ts';
import { openRedis } from './open-redis.ts';
import { redisState, type RedisState } from './redis-state.ts';

const KEY = 'a state key of these tests';
/** A process with this key that does not run. */
const GONE = newNodeId(KEY);

test('a key that is too short is refused', () => {
  const client: RedisClient = { sendCommand: () => Promise.resolve() };
  const reader: RedisClient = { ...client };
  expect(() => redisState(client, { bus: { reader, stateKey: 'short' } })).toThrow('at least 16 bytes');
});

test('the client of the state cannot also be the reader of its bus', () => {
  const client: RedisClient = { sendCommand: () => new Promise(() => {}) };
  expect(() => redisState(client, { bus: { reader: client, stateKey: KEY } })).toThrow(TypeError);
});

test('a reader that is not connected is refused, because nothing would say why no message arrives', () => {
  const client: RedisClient = { sendCommand: () => new Promise(() => {}) };
  const reader = createClient();
  expect(() => redisState(client, { bus: { reader, stateKey: KEY } })).toThrow('must be connected');
});

test('a reader that waits for all commands of a write is refused, because each message would take a second', () => {
  const client: RedisClient = { sendCommand: () => new Promise(() => {}) };
  const reader = new Redis({ lazyConnect: true, enableAutoPipelining: true });
  expect(() => redisState(client, { bus: { reader, stateKey: KEY } })).toThrow('must not have enableAutoPipelining');
  reader.disconnect();
});

describeWithEmptyRedis('with a server', (redis) => {
  /** Resolves when the others know of a node. */
  async function joined({ node }: RedisState): Promise<void> {
    await expect.poll(() => redis.admin.zScore('{everwire}:nodes', node)).not.toBeNull();
  }

  type Sender = Extract<RedisClient, { sendCommand: unknown }>;

  interface Started {
    readonly url?: string;
    readonly stateKey?: string;
    /** Sees the messages that the process writes to Redis. */
    readonly onsend?: (entry: { m: string; k: string }) => void | Promise<unknown>;
    /** Makes the reader of the process from the client that it would have. */
    readonly read?: (client: Sender) => Sender;
    /** Whether the process sends no heartbeat, though it reads. */
    readonly silent?: () => boolean;
  }

  async function start({
    url = redis.server.url,
    stateKey = KEY,
    onsend = () => {},
    read = (client) => client,
    silent = () => false,
  }: Started = {}) {
    const [client, reader] = [await openRedis(url, 5000), await openRedis(url, 5000)];
    const errors: string[] = [];
    const onerror = ({ message }: Error): void => void errors.push(message);
    const sendCommand = async (args: string[]): Promise<unknown> => {
      const [m, k] = [args[5], args[6]];
      if (m?.startsWith('[') && k?.length === 43) await onsend({ m, k });
      if (silent() && args[0] === 'SET') return undefined;
      return client.sendCommand(args);
    };
    const state = redisState({ sendCommand }, { bus: { reader: read(reader), stateKey, onerror } });
    const stop = async (): Promise<void> => {
      await state.close();
      await Promise.all([client.close(), reader.close()]);
    };
    onTestFinished(stop);
    await joined(state);
    // The process has also got the replies before.
    await client.sendCommand(['PING']);
    await nextTurn();
    return {
      ...state,
      get reachable() {
        return state.reachable;
      },
      bus: state.bus!,
      end: stop,
      errors,
    };
  }

  /** A process that is alive, though it reads nothing. */
  async function alive(node: string): Promise<void> {
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() + 60_000, value: node });
    await redis.admin.set(`{everwire}:n:${node}`, '1', { PX: 60_000 });
  }

  /** Stops the clock of limits, but no timers. */
  function stopClock(): void {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  /** What a node gets. */
  function received({ bus }: Pick<RedisState, 'bus'>): JsonObject[] {
    const bodies: JsonObject[] = [];
    bus!.on('kind', (body) => {
      bodies.push(body);
      return true;
    });
    return bodies;
  }

  async function checkKeys(): Promise<void> {
    for (const key of await redis.admin.keys('*')) {
      expect(key).toMatch(/^\{everwire\}:/);
      // −1 is a key that does not expire, and −2 one that is gone.
      expect(await redis.admin.pTTL(key), key).not.toBe(-1);
    }
  }

  const clients = {
    '@redis/client': async () => {
      const client = createClient({ url: redis.server.url });
      client.on('error', () => {});
      await client.connect();
      return { client, ping: () => client.ping(), end: () => client.destroy() };
    },
    ioredis: async () => {
      const client = new Redis(redis.server.port);
      client.on('error', () => {});
      return { client, ping: () => client.ping(), end: () => client.disconnect() };
    },
  };
  for (const [name, connect] of Object.entries(clients)) {
    const suite = busSuite((count) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const [own, reader] = [await connect(), await connect()];
          const state = redisState(own.client, { bus: { reader: reader.client, stateKey: KEY } });
          onTestFinished(async () => {
            await state.close();
            for (const { end } of [own, reader]) end();
          });
          await joined(state);
          // The process has also got the reply to its first heartbeat, which would seem late after the clock has moved.
          await own.ping();
          await nextTurn();
          return { node: state.node, bus: state.bus!, end: () => state.close() };
        }),
      ).then((started) => {
        // Before that, it is not certain which others are gone.
        vi.advanceTimersByTime(3000);
        return started;
      }),
    );
    for (const { name: title, run } of suite)
      test(`the contract over ${name}: ${title}`, async () => {
        stopClock();
        await run();
        await checkKeys();
      });
  }

  test('a listener that throws has not taken the message, and the next messages come', async () => {
    const [receiver, sender] = [await start(), await start()];
    receiver.bus.on('bad', () => {
      throw new Error('from a listener');
    });
    const bodies = received(receiver);
    expect(await sender.bus.send(receiver.node, 'bad', {})).toBe(false);
    expect(receiver.errors).toEqual(['from a listener']);
    expect(await sender.bus.send(receiver.node, 'kind', { a: 1 })).toBe(true);
    expect(bodies).toEqual([{ a: 1 }]);
  });

  test('what was handled is removed', async () => {
    const [a, b] = [await start(), await start()];
    received(b);
    for (let n = 0; n < 5; n += 1) await a.bus.send(b.node, 'kind', { n });
    await expect.poll(() => redis.admin.keys('{everwire}:i*')).toEqual([]);
  });

  test('a message that was made with another key is ignored, and reported once', async () => {
    const [a, b] = [await start(), await start()];
    const atB = received(b);
    const { text, mac } = new BusMessages(a.node, 'another state key').write(b.node, {
      ...{ confirmations: [], messages: [{ kind: 'kind', body: '{}' }], patient: false },
    });
    for (let n = 0; n < 2; n += 1) await redis.admin.xAdd(`{everwire}:in:${b.node}`, '*', { m: text, k: mac });
    expect(await a.bus.send(b.node, 'kind', { n: 1 })).toBe(true);
    expect(atB).toEqual([{ n: 1 }]);
    expect(b.errors).toEqual([expect.stringContaining('A message of another process was ignored')]);
  });

  test('who can write to Redis cannot make, change, redirect or repeat messages', async () => {
    const sent: { m: string; k: string }[] = [];
    const [a, b, c] = [await start({ onsend: (entry) => void sent.push(entry) }), await start(), await start()];
    const [atB, atC] = [received(b), received(c)];
    expect(await a.bus.send(b.node, 'kind', { n: 1 })).toBe(true);
    const [{ m, k }] = sent as [{ m: string; k: string }];
    const inbox = (node: string): string => `{everwire}:in:${node}`;
    // The same message, at the same process and at another one.
    for (const node of [b.node, b.node, c.node]) await redis.admin.xAdd(inbox(node), '*', { m, k });
    expect(await a.bus.send(b.node, 'kind', { n: 2 })).toBe(true);
    expect(await a.bus.send(c.node, 'kind', { n: 3 })).toBe(true);
    expect(b.errors).toEqual([]);
    expect(c.errors).toHaveLength(1);
    const forgeries: Record<string, string>[] = [
      { m: m.replace('"n":1', '"n":4'), k },
      { m: m.replace(a.node, c.node), k },
      { m, k: '' },
      { m: JSON.stringify([b.node, a.node, 99, 'kind', { n: 5 }]), k: 'x'.repeat(43) },
      { k, m },
      { other: 'x' },
      { m },
    ];
    for (const fields of forgeries) await redis.admin.xAdd(inbox(b.node), '*', fields);
    expect(await a.bus.send(b.node, 'kind', { n: 6 })).toBe(true);
    expect(b.errors).toHaveLength(1);
    expect(atB).toEqual([{ n: 1 }, { n: 2 }, { n: 6 }]);
    expect(atC).toEqual([{ n: 3 }]);
  });

  test.each(['7', '"x"', '{"a":"x"}', 'null'])(
    'who can write to Redis cannot end a process: it was told that it has taken %s',
    async (ids) => {
      let planted = 0;
      const sender = await start();
      const receiver = await start({
        read: (client) => ({
          sendCommand: async (args) => {
            const [, , , , node, n] = args;
            if (args[0]!.startsWith('EVAL') && planted < 1) {
              planted += 1;
              await redis.admin.hSet(`{everwire}:tk:${node}`, { n: n!, ids });
            }
            return client.sendCommand(args);
          },
        }),
      });
      const bodies = received(receiver);
      await Promise.allSettled([sender.bus.send(receiver.node, 'kind', { n: 1 })]);
      expect(await sender.bus.send(receiver.node, 'kind', { n: 2 })).toBe(true);
      expect(planted).toBe(1);
      expect(bodies).toEqual([{ n: 2 }]);
    },
  );

  test.each([
    ['read its messages', '-xread', 'xread'],
    ['send heartbeats', '-set', 'set'],
  ])('it is reported once if the user of Redis may not %s', async (_, rule, command) => {
    await redis.admin.aclSetUser('ann', ['reset', 'on', '>a-password', '~*', '&*', '+@all', rule]);
    const { port } = redis.server;
    const [client, reader] = await Promise.all(
      [0, 1].map(() => openRedis(`redis://ann:a-password@127.0.0.1:${port}`, 5000)),
    );
    const errors: string[] = [];
    const onerror = ({ message }: Error): void => void errors.push(message);
    await redis.admin.aclLogReset();
    const refusals = async (): Promise<number> => (await redis.admin.aclLog())[0]?.count ?? 0;
    const state = redisState(client!, { bus: { reader: reader!, stateKey: KEY, onerror } });
    onTestFinished(async () => {
      await state.close();
      await Promise.all([client!.close(), reader!.close()]);
    });
    await expect.poll(refusals).toBeGreaterThan(3);
    expect(errors).toEqual([expect.stringMatching(new RegExp(`^Redis has refused a command: NOPERM .*'${command}'`))]);
  });

  test('a process that was killed takes nothing: the sender learns it', async () => {
    const a = await start();
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() + 60_000, value: GONE });
    expect(await a.bus.send(GONE, 'kind', {})).toBe(false);
    expect(await redis.admin.keys('{everwire}:i*')).toEqual([]);
  });

  test('a process that stops takes nothing that it has not read: the sender learns it', async () => {
    const read = (reader: Sender): Sender => ({
      sendCommand: (args) => (args[0] === 'XREAD' ? deferred<null>().promise : reader.sendCommand(args)),
    });
    const [a, b] = [await start(), await start({ read })];
    b.bus.answer('kind', async () => ({}));
    const sent = a.bus.send(b.node, 'kind', {});
    const called = a.bus.call(b.node, 'kind', {}).catch((error: unknown) => error);
    await expect.poll(() => redis.admin.xLen(`{everwire}:in:${b.node}`)).toBe(2);
    await b.end();
    expect(await sent).toBe(false);
    expect(await called).toBeInstanceOf(NotTaken);
    expect(await redis.admin.keys('{everwire}:i*')).toEqual([]);
  });

  test('a process that stops answers the calls that it has, and takes no more', async () => {
    const [a, b] = [await start(), await start()];
    const [begun, answer] = [deferred(), deferred()];
    b.bus.answer('kind', async ({ n }) => {
      begun.resolve();
      await answer.promise;
      return { n };
    });
    const called = a.bus.call(b.node, 'kind', { n: 1 });
    await begun.promise;
    const ended = b.end();
    await expect.poll(() => a.bus.send(b.node, 'other', {}).catch((error: unknown) => error)).toBeInstanceOf(NotTaken);
    await expect(a.bus.call(b.node, 'kind', { n: 2 })).rejects.toThrow(NotTaken);
    answer.resolve();
    expect(await called).toEqual({ n: 1 });
    await ended;
  });

  test('a process that stops handles what it has taken before', async () => {
    const [taken, released] = [deferred(), deferred()];
    const read = (reader: Sender): Sender => ({
      async sendCommand(args) {
        const reply = await reader.sendCommand(args);
        if (!args[0]!.startsWith('EVAL')) return reply;
        taken.resolve();
        await released.promise;
        return reply;
      },
    });
    const [a, b] = [await start(), await start({ read })];
    const atB = received(b);
    const sent = a.bus.send(b.node, 'kind', { n: 1 });
    await taken.promise;
    const ended = b.end();
    released.resolve();
    expect(await sent).toBe(true);
    expect(atB).toEqual([{ n: 1 }]);
    await ended;
  });

  test('a process that was killed after it has read a message may have handled it: the sender gets an error', async () => {
    const a = await start();
    await alive(GONE);
    const outcome = a.bus.send(GONE, 'kind', {}).catch(String);
    await expect.poll(() => redis.admin.del(`{everwire}:in:${GONE}`)).toBe(1);
    await redis.admin.del(`{everwire}:n:${GONE}`);
    expect(await outcome).toContain('has not confirmed a message in time');
  });

  test.each([
    ['', 'm'],
    [', also if somebody has written to Redis that it is an answer', 'a'],
  ])(
    'a message that a suspended process has not taken is not handled after the sender was told so%s',
    async (_, field) => {
      const released = deferred();
      const read = (reader: Sender): Sender => ({
        async sendCommand(args) {
          const messages = await reader.sendCommand(args);
          // Redis has written the message to the connection.
          if (args[0] !== 'XREAD' || messages === null) return messages;
          await released.promise;
          return JSON.parse(JSON.stringify(messages).replaceAll('["m",', `["${field}",`));
        },
      });
      let silent = true;
      const [a, b] = [await start(), await start({ silent: () => silent, read })];
      const atB = received(b);
      expect(await a.bus.send(b.node, 'kind', { n: 1 })).toBe(false);
      silent = false;
      await expect.poll(() => redis.admin.exists(`{everwire}:n:${b.node}`)).toBe(1);
      released.resolve();
      expect(await a.bus.send(b.node, 'kind', { n: 2 })).toBe(true);
      expect(atB).toEqual([{ n: 2 }]);
    },
  );

  test('a process that sent no heartbeat for some seconds still learns that its message was handled', async () => {
    const a = await start();
    const silence = () => redis.admin.zAdd('{everwire}:nodes', { score: Date.now() - 10_000, value: a.node });
    const b = await start({ onsend: silence });
    const atB = received(b);
    expect(await a.bus.send(b.node, 'kind', { n: 1 })).toBe(true);
    expect(atB).toEqual([{ n: 1 }]);
  });

  test('a message is handled once if the connection was lost when it was taken', async () => {
    let lost = false;
    const read = (reader: Sender): Sender => ({
      async sendCommand(args) {
        const reply = await reader.sendCommand(args);
        if (lost || !args[0]!.startsWith('EVAL')) return reply;
        lost = true;
        throw new Error('the connection is closed');
      },
    });
    const [a, b] = [await start(), await start({ read })];
    const atB = received(b);
    for (const n of [1, 2]) expect(await a.bus.send(b.node, 'kind', { n })).toBe(true);
    expect(atB).toEqual([{ n: 1 }, { n: 2 }]);
    expect(lost).toBe(true);
  });

  test('a process that reads nothing takes only a limited number of messages, and the others go on', async () => {
    const [a, b] = [await start(), await start()];
    received(b);
    await alive(GONE);
    const large = { text: 'x'.repeat(3 * 1024 * 1024) };
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => a.bus.send(GONE, 'kind', large)));
    const reasons = outcomes.map((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : 'taken'));
    const unread = 'Error: Another process has not confirmed a message in time';
    const refused = 'NotTaken: Too many messages to other processes wait';
    expect(reasons).toEqual([...Array<string>(5).fill(unread), refused, refused, refused]);
    // What was sent before is still in the inbox.
    const again = await Promise.allSettled([a.bus.send(GONE, 'kind', large)]);
    expect(String((again[0] as PromiseRejectedResult).reason)).toContain('too many messages that it has not read');
    expect(await a.bus.send(b.node, 'kind', large)).toBe(true);
    await checkKeys();
  });

  test('calls of one share leave room for others, wait for one another, and are withdrawn by their signals', async () => {
    const [a, b] = [await start(), await start()];
    b.bus.answer('kind', async ({ n }) => ({ n: Number(n) }));
    await alive(GONE);
    const text = 'x'.repeat(3 * 1024 * 1024);
    const abort = new AbortController();
    const stuck = Array.from({ length: 8 }, () =>
      a.bus.call(GONE, 'kind', { text }, { share: 'greedy', signal: AbortSignal.any([abort.signal]) }),
    );
    const outcomes = Promise.allSettled(stuck);
    const others = Array.from({ length: 20 }, (_, n) => a.bus.call(b.node, 'kind', { n, text }, { share: `${n % 2}` }));
    expect(await Promise.all(others)).toEqual(others.map((_, n) => ({ n })));
    expect(await redis.admin.xLen(`{everwire}:in:${GONE}`)).toBe(1);
    abort.abort(new Error('enough'));
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(8).fill('rejected'));
    // The one that was sent holds its place until its process is gone.
    await redis.admin.del(`{everwire}:n:${GONE}`);
    const again = [1, 2, 3].map((n) => a.bus.call(b.node, 'kind', { n, text }, { share: 'greedy' }));
    expect(await Promise.all(again)).toEqual([1, 2, 3].map((n) => ({ n })));
  });

  test('answers of one share leave room for those of others', async () => {
    const [a, b] = [await start(), await start()];
    const text = 'x'.repeat(3 * 1024 * 1024);
    let frozen = false;
    const [go, thawed] = [deferred(), deferred()];
    let asked = 0;
    b.bus.answer('kind', async (_, { share }) => {
      asked += 1;
      if (share === 'greedy') await go.promise;
      return { text };
    });
    const c = await start({
      read: (client) => ({
        sendCommand: async (args) => {
          const reply = await client.sendCommand(args);
          // It is alive, and handles nothing.
          if (frozen) await thawed.promise;
          return reply;
        },
      }),
    });
    const greedy = Array.from({ length: 8 }, () => c.bus.call(b.node, 'kind', {}, { share: 'greedy' }));
    await expect.poll(() => asked).toBe(8);
    frozen = true;
    go.resolve();
    for (let n = 0; n < 3; n += 1) expect(await a.bus.call(b.node, 'kind', {}, { share: 'other' })).toEqual({ text });
    expect(Number(await redis.admin.get(`{everwire}:ib:${c.node}`))).toBeLessThan(4 * 1024 * 1024);
    frozen = false;
    thawed.resolve();
    expect(await Promise.all(greedy)).toHaveLength(8);
  });

  test('a process that was suspended gets what all get', async () => {
    stopClock();
    const a = await start();
    vi.advanceTimersByTime(3000);
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() - 10_000, value: GONE });
    await a.bus.sendToAll('kind', {});
    expect(await redis.admin.xLen(`{everwire}:in:${GONE}`)).toBe(1);
    expect(await a.bus.send(GONE, 'kind', {})).toBe(false);
  });

  test('a suspended process with a full inbox gets no more, and stops no message to all', async () => {
    const a = await start();
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() - 10_000, value: GONE });
    await redis.admin.xAdd(`{everwire}:in:${GONE}`, '*', { m: 'x', k: 'x' });
    await redis.admin.set(`{everwire}:ib:${GONE}`, String(16 * 1024 * 1024));
    await a.bus.sendToAll('kind', {});
    expect(await redis.admin.xLen(`{everwire}:in:${GONE}`)).toBe(1);
  });

  test('a message to all goes to the 1,000 processes with the newest heartbeat', async () => {
    const [a, b] = [await start(), await start()];
    const heard = received(b);
    const score = Date.now() - 10_000;
    const others = Array.from({ length: 1500 }, () => ({ score, value: newNodeId(KEY) }));
    await redis.admin.zAdd('{everwire}:nodes', others);
    await a.bus.sendToAll('kind', { n: 1 });
    expect(heard).toEqual([{ n: 1 }]);
    const reached = (await redis.admin.keys('{everwire}:in:*')).length;
    expect(reached).toBeGreaterThan(900);
    expect(reached).toBeLessThanOrEqual(1000);
  });

  test('a message to all fails if a process is alive but handles nothing', async () => {
    const a = await start();
    await alive(GONE);
    await expect(a.bus.sendToAll('kind', {})).rejects.toThrow('has not confirmed a message in time');
  });

  test('while Redis may not know all processes, nobody counts as told or as gone', async () => {
    stopClock();
    const a = await start();
    await a.bus.sendToAll('kind', {});
    const unsure = 'Redis may not know all processes yet';
    const check = async (): Promise<void> => {
      await expect(a.bus.sendToAll('kind', {})).rejects.toThrow(unsure);
      await expect(a.bus.send(GONE, 'kind', {})).rejects.toThrow(unsure);
    };
    await redis.admin.flushAll();
    await check();
    await joined(a);
    await check();
    vi.advanceTimersByTime(3000);
    await a.bus.sendToAll('kind', {});
    expect(await a.bus.send(GONE, 'kind', {})).toBe(false);
  });

  test('after Redis was away for longer than a heartbeat, nobody counts as gone before all could give another', async () => {
    stopClock();
    const a = await start();
    const score = Date.now() - 4000;
    await redis.admin.zAdd('{everwire}:nodes', [
      { score, value: a.node },
      { score, value: GONE },
    ]);
    await redis.admin.del(`{everwire}:n:${a.node}`);
    const check = async (): Promise<void> => {
      await expect(a.bus.send(GONE, 'kind', {})).rejects.toBeInstanceOf(NotTaken);
      expect(await a.isAlive(GONE)).toBe(true);
    };
    await check();
    await expect.poll(() => redis.admin.exists(`{everwire}:n:${a.node}`)).toBe(1);
    await check();
    vi.advanceTimersByTime(3000);
    expect(await a.bus.send(GONE, 'kind', {})).toBe(false);
    expect(await a.isAlive(GONE)).toBe(false);
  });

  test('a process that has just started does not know who is gone', async () => {
    stopClock();
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() - 4000, value: GONE });
    const a = await start();
    await expect(a.bus.send(GONE, 'kind', {})).rejects.toBeInstanceOf(NotTaken);
    expect(await a.isAlive(GONE)).toBe(true);
    vi.advanceTimersByTime(3000);
    expect(await a.bus.send(GONE, 'kind', {})).toBe(false);
    expect(await a.isAlive(GONE)).toBe(false);
  });

  test('a message of a process that Redis does not know yet is not handled, because nobody could confirm it', async () => {
    const [a, b] = [await start(), await start()];
    const atB = received(b);
    await a.close();
    await expect(a.bus.send(b.node, 'kind', {})).rejects.toThrow('Redis may not know all processes yet');
    expect(atB).toEqual([]);
  });

  test('a process that Redis has refused for long does not trust that it knows the others', async () => {
    stopClock();
    const a = await start();
    await a.bus.sendToAll('kind', {});
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() - 59_000, value: a.node });
    const joinedAgain = async (): Promise<boolean> =>
      Number(await redis.admin.zScore('{everwire}:nodes', a.node)) > Date.now() - 30_000;
    await expect.poll(joinedAgain).toBe(true);
    await expect(a.bus.sendToAll('kind', {})).rejects.toThrow('Redis may not know all processes yet');
  });

  test('a process that was suspended joins again with its next heartbeat', async () => {
    stopClock();
    const a = await start();
    const heartbeats = async (): Promise<number> => {
      return Number.parseInt((await redis.admin.get(`{everwire}:n:${a.node}`)) ?? '0', 10);
    };
    await expect.poll(heartbeats).toBeGreaterThan(0);
    await redis.admin.zAdd('{everwire}:nodes', { score: Date.now() - 3000, value: a.node });
    const before = await heartbeats();
    vi.advanceTimersByTime(3000);
    // One may have been on its way.
    await expect.poll(heartbeats, { interval: 10 }).toBeGreaterThanOrEqual(before + 2);
    expect(await redis.admin.zScore('{everwire}:nodes', a.node)).toBeGreaterThan(Date.now() - 2000);
  });

  test('a full Redis refuses messages, which certainly do not arrive', async () => {
    const [a, b] = [await start(), await start()];
    received(b);
    await redis.admin.configSet('maxmemory', '1');
    onTestFinished(async () => void (await redis.admin.configSet('maxmemory', '0')));
    const refused = a.bus.send(b.node, 'kind', {});
    await expect(refused).rejects.toThrow('Redis has refused a command: OOM');
    await expect(refused).rejects.toBeInstanceOf(NotTaken);
  });

  test('after Redis was gone, with all that it had, messages arrive again', async () => {
    const [a, b] = [await start(), await start()];
    const atB = received(b);
    expect(await a.bus.send(b.node, 'kind', { n: 1 })).toBe(true);
    await redis.server.kill();
    await expect(a.bus.send(b.node, 'kind', { n: 2 })).rejects.toThrow('Redis cannot be reached');
    await expect(a.bus.sendToAll('kind', { n: 3 })).rejects.toThrow('Redis cannot be reached');
    await redis.server.restart();
    await expect.poll(() => a.bus.send(b.node, 'kind', { n: 4 }).catch(() => 'unreachable')).toBe(true);
    expect(atB).toEqual([{ n: 1 }, { n: 4 }]);
  });

  test('a call that runs while Redis is gone is answered later, and others certainly do not run', async () => {
    const [a, b] = [await start(), await start()];
    const go = deferred();
    const begun = deferred();
    const calls: JsonObject[] = [];
    b.bus.answer('kind', async (body) => {
      calls.push(body);
      begun.resolve();
      await go.promise;
      return body;
    });
    b.bus.answer('confirmed', async () => ({}));
    const first = a.bus.call(b.node, 'kind', { n: 1 });
    await begun.promise;
    await a.bus.call(b.node, 'confirmed', {});
    await redis.server.kill();
    await expect.poll(() => a.reachable).toBe(false);
    await expect(a.bus.call(b.node, 'kind', { n: 2 })).rejects.toThrow(NotTaken);
    go.resolve();
    await redis.server.restart();
    expect(await first).toEqual({ n: 1 });
    expect(calls).toEqual([{ n: 1 }]);
  });

  test('over a bad network, each message arrives at most once, and never without its sender knowing', async () => {
    let cut = 0;
    const network: BadNetwork = {
      split: 500,
      get cutAfter() {
        return 2000 + ((cut += 371) % 4000);
      },
    };
    const proxy = await badProxy(redis.server.port, () => network);
    onTestFinished(() => proxy.stop());
    const [a, b] = [await start({ url: proxy.url }), await start({ url: proxy.url })];
    const atB = received(b);
    const taken: number[] = [];
    for (let n = 0; n < 60; n += 1) {
      const outcome = await a.bus.send(b.node, 'kind', { n }).catch(() => undefined);
      if (outcome === true) taken.push(n);
    }
    const numbers = atB.map(({ n }) => Number(n));
    expect(new Set(numbers).size).toBe(numbers.length);
    for (const n of taken) expect(numbers).toContain(n);
    expect(taken.length).toBeGreaterThan(10);
  });
});
