import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { findRedis, startRedis } from '../../../test/support/redis-server.ts';
import { describeWithEmptyRedis } from '../../../test/support/with-empty-redis.ts';
import { Commands } from './commands.ts';
import { openRedis } from './open-redis.ts';
import { redisState } from './redis-state.ts';

/**
 * An address of several servers, one after the other. Connections stay at the server that they began with.
 *
 * @param change changes what a server sends.
 * @param host where it listens.
 */
async function movingAddress(
  target: () => number,
  change = (sent: Buffer): Buffer => sent,
  host = '127.0.0.1',
): Promise<{ readonly url: string; readonly count: () => number }> {
  const sockets: Socket[] = [];
  let count = 0;
  const server = createServer((near) => {
    count += 1;
    const far = connect(target(), '127.0.0.1');
    near.on('data', (sent) => far.write(sent));
    far.on('data', (sent) => near.write(change(sent)));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.push(from);
      from.on('error', () => {});
      from.on('close', () => to.destroy());
    }
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `redis://${host.includes(':') ? `[${host}]` : host}:${port}`, count: () => count };
}

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

describeWithEmptyRedis('the connection to Redis', (redis) => {
  test.skipIf(!hasIPv6)('leads to an IPv6 address', async () => {
    const { url } = await movingAddress(
      () => redis.server.port,
      (sent) => sent,
      '::1',
    );
    const client = await openRedis(url, 5000);
    onTestFinished(() => client.close());
    expect(await client.sendCommand(['PING'])).toBe('PONG');
  });

  test('is opened again after bytes that are no reply, and no command gets the reply of another', async () => {
    let broken = false;
    const { url } = await movingAddress(
      () => redis.server.port,
      (sent) => {
        if (!broken) return sent;
        broken = false;
        return Buffer.from('?\r\n');
      },
    );
    const client = await openRedis(url, 5000);
    onTestFinished(() => client.close());
    const wrong: unknown[] = [];
    const echo = async (text: string): Promise<void> => {
      const reply = await client.sendCommand(['ECHO', text]);
      if (reply !== text) wrong.push(reply);
    };
    await echo('first');
    broken = true;
    const lost = echo('second').catch(() => {});
    await expect.poll(() => broken).toBe(false);
    await expect.poll(() => echo('third').catch(() => 'failed')).toBe(undefined);
    await lost;
    expect(wrong).toEqual([]);
  });

  test('is opened again if the server has become a replica, to the present one', async () => {
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

  test('counts a server that becomes a replica while it is read as one that cannot be reached', async () => {
    const client = await openRedis(redis.server.url, 5000);
    onTestFinished(() => client.close());
    const commands = new Commands(client, 'p', 5000);
    const failed = commands.send(['XREAD', 'BLOCK', '5000', 'STREAMS', 'any', '0']).catch((error: unknown) => error);
    await expect.poll(() => redis.admin.info('clients')).toContain('blocked_clients:1');
    await redis.admin.replicaOf('127.0.0.1', 1);
    onTestFinished(async () => void (await redis.admin.sendCommand(['REPLICAOF', 'NO', 'ONE'])));
    expect(await failed).toMatchObject({
      name: 'StoreUnreachable',
      message: expect.stringContaining('UNBLOCKED'),
    });
    expect(commands.reachable).toBe(false);
  });

  test('says once why it cannot be opened again, without its password', async () => {
    const [user, password] = ['everwire', 'a-secret-password'];
    const allow = (secret: string): Promise<unknown> =>
      redis.admin.sendCommand(['ACL', 'SETUSER', user, 'reset', 'on', `>${secret}`, '~*', '&*', '+@all']);
    await allow(password);
    onTestFinished(async () => void (await redis.admin.sendCommand(['ACL', 'DELUSER', user])));
    const said: string[] = [];
    const { url, count } = await movingAddress(() => redis.server.port);
    const known = url.replace('//', `//${user}:${password}@`);
    const client = await openRedis(known, 5000, (error) => said.push(error.message));
    onTestFinished(() => client.close());
    const answered = (): Promise<unknown> => client.sendCommand(['PING']).catch(() => 'not answered');
    const cutOff = (): Promise<unknown> => redis.admin.sendCommand(['CLIENT', 'KILL', 'USER', user]);
    // A connection that is only lost is opened again, and nothing is wrong.
    await cutOff();
    await expect.poll(answered).toBe('PONG');
    expect(said).toEqual([]);
    await allow('another-password');
    await cutOff();
    const before = count();
    await expect.poll(count).toBeGreaterThan(before + 3);
    expect(said).toEqual([expect.stringContaining(`The store ${url} cannot be reached: WRONGPASS`)]);
    await allow(password);
    await expect.poll(answered).toBe('PONG');
    await allow('another-password');
    await cutOff();
    await expect.poll(() => said.length).toBe(2);
  });

  test('is opened again only a few times while there is only a replica', async () => {
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
