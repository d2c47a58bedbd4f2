import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { findRedis, startRedis } from '../../../test/support/redis-server.ts';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

/** An address of several servers, one after the other. Connections stay at the server that they began with. */
async function movingAddress(target: () => number): Promise<{ readonly url: string; readonly count: () => number }> {
  const sockets: Socket[] = [];
  let count = 0;
  const server = createServer((near) => {
    count += 1;
    const far = connect(target(), '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.push(from);
      from.on('error', () => {});
      from.pipe(to);
      from.on('close', () => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => count };
}

describeWithEmptyRedis('after a failover', (redis) => {
  test('a connection to a server that has become a replica is opened again, to the present one', async () => {
    const present = await startRedis(findRedis()!);
    onTestFinished(() => present.stop());
    let { port } = redis.server;
    const { url } = await movingAddress(() => port);
    const client = await openRedis(url, 5000);
    onTestFinished(() => client.close());
    const state = redisState(client);
    onTestFinished(() => state.close());
    await state.sessions.put('s', { initialize: {} });
    port = present.port;
    await redis.admin.replicaOf('127.0.0.1', 1);
    onTestFinished(async () => void (await redis.admin.sendCommand(['REPLICAOF', 'NO', 'ONE'])));
    await expect
      .poll(() => state.sessions.put('t', { initialize: {} }).catch(({ name }: Error) => name))
      .toBe(undefined);
    expect(await state.sessions.get('t')).toEqual({ initialize: {} });
    expect(state.reachable).toBe(true);
  });

  test('while there is only a replica, the store cannot be reached, and few connections are opened', async () => {
    const { url, count } = await movingAddress(() => redis.server.port);
    const client = await openRedis(url, 5000);
    onTestFinished(() => client.close());
    const state = redisState(client);
    onTestFinished(() => state.close().catch(() => {}));
    await redis.admin.replicaOf('127.0.0.1', 1);
    onTestFinished(async () => void (await redis.admin.sendCommand(['REPLICAOF', 'NO', 'ONE'])));
    const began = performance.now();
    for (let n = 0; n < 100; n += 1) {
      const failed = state.sessions.put('t', { initialize: {} });
      await expect(failed).rejects.toMatchObject({ name: 'StoreUnreachable' });
    }
    expect(state.reachable).toBe(false);
    // The first one, and at most one for each second.
    expect(count()).toBeLessThanOrEqual(2 + (performance.now() - began) / 1000);
  });
});
