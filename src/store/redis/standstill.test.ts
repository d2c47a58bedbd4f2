import { expect, onTestFinished, test, vi } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

/** Redis stands still, so heartbeats lapse. Then it reads what waits, one process after the other. */

const PATIENT = { timeout: 30_000 };

describeWithEmptyRedis('with a server', (redis) => {
  const keyOf = (node: string): string => `{everwire}:n:${node}`;

  async function start() {
    const client = await openRedis(redis.server.url, 5000);
    let isStanding = false;
    let waiting: { args: string[]; reply: Deferred<unknown> }[] = [];
    const sendCommand = (args: string[]): Promise<unknown> => {
      if (!isStanding) return client.sendCommand(args);
      const reply = new Deferred<unknown>();
      waiting.push({ args, reply });
      return reply.promise;
    };
    /** Redis reads what waits. Its replies come in one piece. */
    const goOn = async (): Promise<void> => {
      isStanding = false;
      const read = waiting;
      waiting = [];
      const replies = await Promise.allSettled(read.map(({ args }) => client.sendCommand(args)));
      for (const [at, { reply }] of read.entries()) {
        const settled = replies[at]!;
        if (settled.status === 'fulfilled') reply.resolve(settled.value);
        else reply.reject(settled.reason);
      }
    };
    const state = redisState({ sendCommand });
    onTestFinished(async () => {
      await goOn();
      await state.close();
      await client.close();
    });
    const lost: string[] = [];
    state.claims.onlost((key) => lost.push(key));
    await expect.poll(() => redis.admin.exists(keyOf(state.node)), PATIENT).toBe(1);
    const waits = async (name: string): Promise<void> => {
      await expect.poll(() => waiting.map(({ args }) => args[0]), PATIENT).toContain(name);
    };
    const stand = (): void => void (isStanding = true);
    return { node: state.node, isAlive: state.isAlive, claims: state.claims, lost, stand, goOn, waits };
  }

  /** Two processes. Redis stands still, and some of their heartbeats have lapsed. */
  async function standing(lapsed: 'both' | 'first') {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const [a, b] = [await start(), await start()];
    await a.claims.claim('key');
    // At the start, no process takes another one for gone.
    for (let second = 0; second < 4; second += 1) {
      for (const { node } of [a, b]) {
        const former = await redis.admin.get(keyOf(node));
        await expect.poll(() => redis.admin.get(keyOf(node)), PATIENT).not.toBe(former);
      }
      vi.advanceTimersByTime(1000);
    }
    expect(await b.isAlive('a process that was never there')).toBe(false);
    for (const process of [a, b]) process.stand();
    for (const process of [a, b]) await process.waits('SET');
    for (const { node } of lapsed === 'both' ? [a, b] : [a]) await redis.admin.del(keyOf(node));
    return { a, b };
  }

  test.each(['both', 'first'] as const)('after Redis stood still, no process is gone (%s)', async (lapsed) => {
    const { a, b } = await standing(lapsed);
    const looked = b.isAlive(a.node);
    if (lapsed === 'first') vi.advanceTimersByTime(2000);
    await b.goOn();
    expect(await looked).toBe(true);
    expect(await b.isAlive(a.node)).toBe(true);
  });

  test('after Redis stood still, nobody takes what a process has whose heartbeat it has not read yet', async () => {
    const { a, b } = await standing('both');
    const claimed = b.claims.claim('key');
    await b.waits('EVALSHA');
    await b.goOn();
    await a.goOn();
    expect(await claimed).toBe(a.node);
    expect(await a.claims.claim('key')).toBe(a.node);
    expect(a.lost).toEqual([]);
  });
});
