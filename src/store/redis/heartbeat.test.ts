import { expect, onTestFinished, test, vi } from 'vitest';
import { badProxy, type BadNetwork } from '../../../test/support/redis-server.ts';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

const PATIENT = { timeout: 30_000 };
const NAMED = /^\d+ \d+$/;
const UNNAMED = /^\d+$/;

describeWithEmptyRedis('with a server', (redis) => {
  const keyOf = (node: string): string => `{everwire}:n:${node}`;
  const signOf = (node: string): Promise<string | null> => redis.admin.get(keyOf(node));

  /**
   * @param refused whether Redis takes no heartbeat of the process.
   * @param latency how long each command takes. Milliseconds.
   */
  async function start(url = redis.server.url, refused: () => boolean = () => false, latency = 0) {
    const client = await openRedis(url, 5000);
    const sendCommand = async (args: string[]): Promise<unknown> => {
      if (args[0] === 'SET' && refused()) throw new Error('OOM command not allowed');
      if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
      return client.sendCommand(args);
    };
    const state = redisState({ sendCommand });
    onTestFinished(async () => {
      await state.close();
      await client.close();
    });
    const lost: string[] = [];
    state.claims.onlost((key) => lost.push(key));
    await expect.poll(() => signOf(state.node), PATIENT).not.toBeNull();
    return { ...state, lost, kill: () => client.close() };
  }

  async function startBehindProxy() {
    const network: { -readonly [Name in keyof BadNetwork]: BadNetwork[Name] } = {};
    const proxy = await badProxy(redis.server.port, () => network);
    onTestFinished(() => proxy.stop());
    return { ...(await start(proxy.url)), network, cut: proxy.cut };
  }

  /** From now on, the last heartbeat of a process never lapses. It is about a second old. */
  function preserve(node: string): void {
    const timer = setInterval(() => void redis.admin.pExpire(keyOf(node), 2000).catch(() => {}), 20);
    onTestFinished(() => clearInterval(timer));
  }

  /** Stops the clock of all that is started after this, but no timers. */
  function stopClock(): void {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  /** Redis knows the connections of processes, and has had them for some time. */
  async function connectedFor(milliseconds: number, ...processes: readonly { readonly node: string }[]): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 1000) {
      for (const { node } of processes) await nextSign(node);
      vi.advanceTimersByTime(1000);
    }
    for (const { node } of processes) await nextSign(node);
  }

  /** A process has sent another heartbeat, which names its connection. */
  async function nextSign(node: string): Promise<void> {
    const former = await signOf(node);
    await expect.poll(() => signOf(node), PATIENT).not.toBe(former);
    await expect.poll(() => signOf(node), PATIENT).toMatch(NAMED);
  }

  async function answers(count: number, ask: () => Promise<boolean>): Promise<Set<boolean>> {
    const all = new Set<boolean>();
    for (let n = 0; n < count; n += 1) all.add(await ask());
    return all;
  }

  test('a silent process is gone when its connection is closed, and not before', async () => {
    stopClock();
    let refused = false;
    const [a, b] = [await start(redis.server.url, () => refused), await start()];
    await connectedFor(3000, a, b);
    refused = true;
    preserve(a.node);
    // What it has sent before has arrived.
    await redis.admin.pTTL(keyOf(a.node));
    expect(await answers(50, () => b.isAlive(a.node))).toEqual(new Set([true]));
    await a.kill();
    await expect.poll(() => b.isAlive(a.node), PATIENT).toBe(false);
    expect(await b.claims.claim('key')).toBe(b.node);
  });

  /** Two processes. Redis takes no heartbeats of them any more, and that of the first has lapsed a little earlier. */
  test('a process whose Redis is slow learns that another one has ended', async () => {
    const slow = await start(redis.server.url, undefined, 700);
    await expect.poll(() => slow.isAlive('a process that was never there'), PATIENT).toBe(false);
    expect(await answers(5, () => slow.isAlive('another one'))).toEqual(new Set([false]));
  });

  async function refusedBoth() {
    stopClock();
    const refused = { a: false, b: false };
    const times = { a: 0, b: 0 };
    const a = await start(redis.server.url, () => refused.a && (times.a += 1) > 0);
    const b = await start(redis.server.url, () => refused.b && (times.b += 1) > 0);
    await connectedFor(4000, a, b);
    await a.claims.claim('key');
    Object.assign(refused, { a: true, b: true });
    await expect.poll(() => Math.min(times.a, times.b), PATIENT).toBeGreaterThan(0);
    for (const { node } of [a, b]) await redis.admin.pExpire(keyOf(node), 900);
    await redis.admin.del(keyOf(a.node));
    vi.advanceTimersByTime(2000);
    return { a, b, refused };
  }

  test('while Redis takes no heartbeats, and until three seconds later, nobody is gone', async () => {
    const { a, b, refused } = await refusedBoth();
    expect(await b.isAlive(a.node)).toBe(true);
    refused.b = false;
    await nextSign(b.node);
    expect(await b.isAlive(a.node)).toBe(true);
    await connectedFor(3000, b);
    expect(await b.isAlive(a.node)).toBe(false);
  });

  test('after Redis took no heartbeats, nobody takes what a process that is alive had', async () => {
    const { a, b, refused } = await refusedBoth();
    refused.b = false;
    const claimed = b.claims.claim('key');
    await nextSign(b.node);
    refused.a = false;
    expect(await claimed).toBe(a.node);
    expect(a.lost).toEqual([]);
  });

  test('a process that is cut off for long does not trust its claims when others can take them', async () => {
    const [a, b] = [await startBehindProxy(), await start()];
    for (const node of [a.node, b.node]) await expect.poll(() => signOf(node), PATIENT).toMatch(NAMED);
    await a.claims.claim('key');
    expect(a.claims.holds('key')).toBe(true);
    a.network.closed = true;
    a.cut();
    await expect.poll(() => b.isAlive(a.node), PATIENT).toBe(false);
    expect(a.claims.holds('key')).toBe(false);
    expect(await b.claims.claim('key')).toBe(b.node);
    a.network.closed = false;
    await expect.poll(() => a.lost, PATIENT).toEqual(['key']);
  });

  test('a process that is cut off waits until it knows whether another one has taken what it had', async () => {
    stopClock();
    const [a, b] = [await startBehindProxy(), await start()];
    await connectedFor(3000, a, b);
    for (const key of ['one', 'two']) await a.claims.claim(key);
    await expect.poll(() => a.claims.holds('two'), PATIENT).toBe(true);
    a.network.closed = true;
    a.cut();
    preserve(a.node);
    const settled: string[] = [];
    const claims = ['one', 'two'].map(async (key) => {
      const holder = await a.claims.claim(key);
      settled.push(key);
      return holder;
    });
    await expect.poll(() => b.isAlive(a.node), PATIENT).toBe(false);
    expect(await b.claims.claim('one')).toBe(b.node);
    expect(settled).toEqual([]);
    a.network.closed = false;
    expect(await Promise.all(claims)).toEqual([b.node, a.node]);
    expect(a.lost).toEqual(['one']);
  });

  test('a process that is cut off for a moment goes on over its next connection', async () => {
    stopClock();
    const [a, b] = [await startBehindProxy(), await start()];
    await connectedFor(3000, a, b);
    await a.claims.claim('key');
    const connection = async (): Promise<string | undefined> => (await signOf(a.node))?.split(' ')[1];
    const first = await connection();
    a.cut();
    await expect.poll(async () => (await connection()) ?? first, PATIENT).not.toBe(first);
    preserve(a.node);
    expect(await answers(50, () => b.isAlive(a.node))).toEqual(new Set([true]));
    expect(await b.claims.claim('key')).toBe(a.node);
  });

  test('a process whose own connection is new takes nobody for gone because of another one', async () => {
    stopClock();
    const b = await start();
    await connectedFor(3000, b);
    await redis.admin.set(keyOf('other'), '7 999999', { PX: 2000 });
    preserve('other');
    await redis.admin.sendCommand(['CLIENT', 'KILL', 'ID', (await signOf(b.node))!.split(' ')[1]!]);
    // Its connection is another one now, as after a restart of Redis.
    await expect.poll(() => signOf(b.node), PATIENT).toMatch(UNNAMED);
    await expect.poll(() => signOf(b.node), PATIENT).toMatch(NAMED);
    expect(await answers(50, () => b.isAlive('other'))).toEqual(new Set([true]));
    vi.advanceTimersByTime(3000);
    expect(await b.isAlive('other')).toBe(false);
  });

  test('a process that Redis answers slowly names no connection, and trusts its claims longer', async () => {
    const a = await startBehindProxy();
    await a.claims.claim('key');
    await expect.poll(() => signOf(a.node), PATIENT).toMatch(NAMED);
    a.network.delay = 250;
    await expect.poll(() => signOf(a.node), PATIENT).toMatch(UNNAMED);
    await expect.poll(() => a.claims.holds('key'), PATIENT).toBe(true);
    expect(await a.claims.claim('key')).toBe(a.node);
    a.network.delay = 0;
    await expect.poll(() => signOf(a.node), PATIENT).toMatch(NAMED);
  });

  test('a user of Redis who may not ask for connections has heartbeats that name none, and asks once', async () => {
    await redis.admin.sendCommand(['ACL', 'SETUSER', 'plain', 'on', '>secret', '~*', '&*', '+@all', '-client']);
    await redis.admin.sendCommand(['ACL', 'LOG', 'RESET']);
    const a = await start(redis.server.url.replace('//', '//plain:secret@'));
    expect(await a.claims.claim('key')).toBe(a.node);
    const first = Number(await signOf(a.node));
    await expect.poll(async () => Number(await signOf(a.node)), PATIENT).toBeGreaterThan(first + 3);
    const refused = (await redis.admin.aclLog()).filter(({ object }) => object === 'client|id');
    expect(refused.map(({ count }) => count)).toEqual([1]);
    expect(a.claims.holds('key')).toBe(true);
  });

  test('a user of Redis who may not list connections waits until heartbeats lapse', async () => {
    stopClock();
    const rights = ['~*', '&*', '+@all', '-client', '+client|id'];
    await redis.admin.sendCommand(['ACL', 'SETUSER', 'half', 'on', '>secret', ...rights]);
    const b = await start(redis.server.url.replace('//', '//half:secret@'));
    await connectedFor(3000, b);
    await redis.admin.set(keyOf('other'), '7 999999', { PX: 2000 });
    preserve('other');
    expect(await answers(50, () => b.isAlive('other'))).toEqual(new Set([true]));
    await redis.admin.del(keyOf('other'));
    expect(await b.isAlive('other')).toBe(false);
  });
});
