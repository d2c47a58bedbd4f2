import { createClient } from '@redis/client';
import { expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type OfficialClient } from '../interop/clients.ts';
import type { RunningServer } from '../support/process.ts';
import { frontOf } from './front.ts';
import { describeWithRedis } from './with-redis.ts';
import { at, bridgeTo } from './world.ts';

/** A process is killed, and Redis closes its connections. Its heartbeats do not lapse in these tests. */

const PATIENT = { timeout: 30_000 };

const textOf = (result: Record<string, any>): string => result['content'][0].text;
const countOf = async (client: OfficialClient): Promise<{ calls: number; pid: number }> =>
  JSON.parse(textOf(await client.callTool({ name: 'count' })));

describeWithRedis('two bridges with one Redis', (shared) => {
  async function start() {
    const admin = createClient({ url: shared.redis.url });
    admin.on('error', () => {});
    await admin.connect();
    onTestFinished(() => admin.destroy());
    const args = bridgeTo(shared.world.stateful, '--port', '0');
    const servers: RunningServer[] = [];
    const nodes: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      servers.push(...(await shared.serve(1, args)));
      const all = await admin.keys('{everwire}:n:*');
      nodes.push(all.find((key) => !nodes.includes(key))!);
    }
    const sent = { to: 0 };
    const front = await frontOf(servers, ({ method }) => (method === 'GET' ? 1 : sent.to));
    const client = await connectOfficial('sdk 1.x', 'http', at(front));
    onTestFinished(() => client.close().catch(() => {}));
    /** From now on, Redis never forgets that the process was alive a second ago. */
    const keepAlive = async (key: string): Promise<void> => {
      // Redis knows its connection.
      await expect.poll(() => admin.get(key), PATIENT).toMatch(/^\d+ \d+$/);
      const timer = setInterval(() => void admin.pExpire(key, 2000).catch(() => {}), 20);
      onTestFinished(() => clearInterval(timer));
    };
    return { admin, servers, nodes, sent, client, keepAlive };
  }

  test('the next call has a new child as soon as Redis has no connection of the process any more', async () => {
    const { servers, nodes, sent, client, keepAlive } = await start();
    const { pid } = await countOf(client);
    sent.to = 1;
    expect(await countOf(client)).toEqual({ calls: 2, pid });
    await keepAlive(nodes[0]!);
    servers[0]!.child.kill('SIGKILL');
    const next = await countOf(client);
    expect(next.calls).toBe(1);
    expect(next.pid).not.toBe(pid);
    await expect.poll(() => shared.world.alive, PATIENT).toEqual([next.pid]);
  });
});
