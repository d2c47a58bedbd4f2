import { expect, onTestFinished, test } from 'vitest';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { NotTaken } from '../bus.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

const WHY = 'Another process with the same Redis has another stateKey (--state-key), or none';

describeWithEmptyRedis('processes with different state keys', (redis) => {
  async function start(stateKey: string | undefined) {
    const clients = [await openRedis(redis.server.url, 5000), await openRedis(redis.server.url, 5000)] as const;
    const errors: string[] = [];
    const onerror = ({ message }: Error): void => void errors.push(message);
    const bus = stateKey === undefined ? undefined : { reader: clients[1], stateKey, onerror };
    const state = redisState(clients[0], { bus });
    const end = () => state.close();
    onTestFinished(async () => {
      await end();
      await Promise.all(clients.map((client) => client.close()));
    });
    await expect.poll(() => redis.admin.exists(`{everwire}:n:${state.node}`), { timeout: 30_000 }).toBe(1);
    const isKnown = async () => !bus || (await redis.admin.zScore('{everwire}:nodes', state.node)) !== null;
    await expect.poll(isKnown, { timeout: 30_000 }).toBe(true);
    return { node: state.node, bus: state.bus, errors, end };
  }

  test('pass nothing on to each other, say so once, and learn when one has ended', async () => {
    const [a, b, keyless] = [
      await start('one state key, in use'),
      await start('another state key'),
      await start(undefined),
    ];
    const atA: unknown[] = [];
    a.bus!.on('kind', (body) => atA.push(body) > 0);
    a.bus!.answer('kind', async (body) => ({ answered: atA.push(body) }));
    const outcomes = await Promise.allSettled([
      b.bus!.send(a.node, 'kind', {}),
      b.bus!.call(a.node, 'kind', {}),
      b.bus!.sendToAll('kind', {}),
      b.bus!.send(keyless.node, 'kind', {}),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: WHY } });
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(NotTaken);
    }
    expect([atA, a.errors, b.errors]).toEqual([[], [], [WHY]]);
    await a.end();
    // A process that has just started waits before it takes others for ended.
    await expect.poll(() => b.bus!.send(a.node, 'kind', {}).catch(String), { timeout: 30_000 }).toBe(false);
    await b.bus!.sendToAll('kind', {});
  });
});
