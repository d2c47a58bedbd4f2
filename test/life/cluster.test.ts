import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { programs } from '../support/process.ts';
import { frontOf } from './front.ts';
import { describeWithRedis } from './with-redis.ts';
import { at } from './world.ts';

/** Official clients, whose requests reach two servers in turn that use one Redis. */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];

describeWithRedis('two servers', (shared) => {
  test.each(OFFICIAL)('serve the calls of one session in turn, and one goes on alone (%s)', async (kind) => {
    const args = [...programs.features, '--store', shared.redis.url];
    const servers = [await shared.world.serve(args), await shared.world.serve(args)];
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
