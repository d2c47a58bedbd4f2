import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { programs } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';
import { frontOf } from './front.ts';
import { at, World } from './world.ts';

/** Official clients, whose requests reach two servers in turn that use one Redis. */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
const command = findRedis();
let redis: RedisServer;
let world: World;

describe.skipIf(command === undefined)('two servers', () => {
  beforeAll(async () => {
    redis = await startRedis(command!);
  });
  afterAll(() => redis.stop());
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.end());

  test.each(OFFICIAL)('serve the calls of one session in turn, and one goes on alone (%s)', async (kind) => {
    const args = [...programs.features, '--store', redis.url];
    const servers = [await world.serve(args), await world.serve(args)];
    const front = await frontOf(servers);
    const client = await connectOfficial(kind, 'http', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    const echo = async (text: string): Promise<void> => {
      const result = await client.callTool({ name: 'echo', arguments: { text } });
      expect(result).toMatchObject({ content: [{ type: 'text', text }] });
    };
    for (let n = 0; n < 10; n += 1) await echo(`call ${n}`);
    for (const count of front.counts) expect(count).toBeGreaterThan(3);
    servers[0]!.child.kill('SIGKILL');
    await servers[0]!.stop();
    for (let n = 0; n < 4; n += 1) await echo(`after ${n}`);
  });
});
