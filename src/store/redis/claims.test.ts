import { expect, onTestFinished, test, vi } from 'vitest';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { claimsSuite } from '../../testing/contracts/claims-suite.ts';
import { RedisClaims } from './claims.ts';
import type { Commands, Script } from './commands.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

test('a claim that Redis has read just after a heartbeat needs no other heartbeat', async () => {
  const sent: string[] = [];
  const heartbeats = { trusted: 2000, confirmed: 'one', beat: async () => void sent.push('heartbeat') };
  const run = async (_: Script, ...args: readonly unknown[]): Promise<string> => {
    const known = String(args.at(-1));
    sent.push(`claim after ${known}`);
    // The confirmation of this heartbeat comes before the reply to the claim.
    heartbeats.confirmed = 'two';
    return known === 'two' ? 'this-node' : '';
  };
  const claims = new RedisClaims({ run } as unknown as Commands, 'this-node', heartbeats);
  expect(await claims.claim('key')).toBe('this-node');
  expect(sent).toEqual(['claim after one', 'claim after two']);
});

describeWithEmptyRedis('with a server', (redis) => {
  /**
   * @param silent whether the process sends no heartbeat.
   * @param deaf whether it does not learn that Redis has got one.
   */
  async function start(silent: () => boolean = () => false, deaf: () => boolean = () => false) {
    const client = await openRedis(redis.server.url, 5000);
    const sendCommand = async (args: string[]): Promise<unknown> => {
      const isSign = args[0] === 'SET';
      if (isSign && silent()) throw new Error('silent');
      const reply = await client.sendCommand(args);
      if (isSign && deaf()) throw new Error('deaf');
      return reply;
    };
    const state = redisState({ sendCommand });
    const end = async (): Promise<void> => {
      await state.close();
      await client.close();
    };
    onTestFinished(() => end().catch(() => {}));
    const lost: string[] = [];
    state.claims.onlost((key) => lost.push(key));
    await expect.poll(() => redis.admin.exists(`{everwire}:n:${state.node}`)).toBe(1);
    return { node: state.node, claims: state.claims, end, lost };
  }

  const suite = claimsSuite((count) => Promise.all(Array.from({ length: count }, () => start())));
  for (const { name, run } of suite)
    test(name, async () => {
      await run();
      for (const key of await redis.admin.keys('*')) expect(await redis.admin.pTTL(key), key).toBeGreaterThan(0);
    });

  test('a process that sends no heartbeat soon trusts its claims no longer, and loses them to others', async () => {
    let silent = false;
    const [a, b] = [await start(() => silent), await start()];
    for (const key of ['one', 'two']) await a.claims.claim(key);
    silent = true;
    await expect.poll(() => a.claims.holds('one')).toBe(false);
    expect(a.lost).toEqual([]);
    await expect.poll(() => b.claims.claim('one')).toBe(b.node);
    silent = false;
    await expect.poll(() => a.lost).toEqual(['one']);
    await expect.poll(() => a.claims.holds('two')).toBe(true);
    expect(await b.claims.claim('two')).toBe(a.node);
    expect(await a.claims.claim('one')).toBe(b.node);
  });

  test('a process loses its claims to others also if it did not learn that its next heartbeat arrived', async () => {
    let silent = false;
    let deaf = false;
    const a = await start(
      () => silent,
      () => deaf,
    );
    const b = await start();
    for (const key of ['one', 'two']) await a.claims.claim(key);
    silent = true;
    await expect.poll(() => b.claims.claim('one')).toBe(b.node);
    deaf = true;
    silent = false;
    await expect.poll(() => redis.admin.exists(`{everwire}:n:${a.node}`)).toBe(1);
    deaf = false;
    await expect.poll(() => a.claims.holds('two')).toBe(true);
    expect(a.claims.holds('one')).toBe(false);
    expect(a.lost).toEqual(['one']);
  });

  test('many claims of one key at once are one for Redis', async () => {
    const [a, b] = [await start(), await start()];
    await b.claims.claim('key');
    await redis.admin.configResetStat();
    const claims = await Promise.all(Array.from({ length: 2000 }, () => a.claims.claim('key')));
    expect(new Set(claims)).toEqual(new Set([b.node]));
    const [, calls] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.admin.info('commandstats')) ?? [];
    expect(Number(calls)).toBeLessThan(100);
    await b.claims.release('key');
    expect(await a.claims.claim('key')).toBe(a.node);
  });

  test('what Redis has forgotten is claimed again by the process that had it', async () => {
    const [a, b] = [await start(), await start()];
    await a.claims.claim('key');
    await redis.admin.flushAll();
    await expect.poll(() => redis.admin.keys('{everwire}:pin:*')).toHaveLength(1);
    expect(await b.claims.claim('key')).toBe(a.node);
    expect(a.lost).toEqual([]);
  });

  test('after Redis was gone with its data, nobody takes what a process that is alive had', async () => {
    let silent = false;
    const [a, b] = [await start(() => silent), await start()];
    await a.claims.claim('key');
    silent = true;
    await redis.admin.flushAll();
    const claimed = b.claims.claim('key');
    await expect.poll(() => redis.admin.exists(`{everwire}:n:${b.node}`)).toBe(1);
    silent = false;
    expect(await claimed).toBe(a.node);
    expect(a.lost).toEqual([]);
  });

  test('a claim is refused while Redis knows no heartbeat of the process', async () => {
    let silent = false;
    const a = await start(() => silent);
    silent = true;
    await redis.admin.del(`{everwire}:n:${a.node}`);
    await expect(a.claims.claim('key')).rejects.toThrow('silent');
    silent = false;
    expect(await a.claims.claim('key')).toBe(a.node);
  });

  test('claims are renewed as long as the process has them', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const a = await start();
    await a.claims.claim('key');
    const [pin] = await redis.admin.keys('{everwire}:pin:*');
    await redis.admin.pExpire(pin!, 50_000);
    vi.advanceTimersByTime(31_000);
    await expect.poll(() => redis.admin.pTTL(pin!)).toBeGreaterThan(60_000);
  });
});
