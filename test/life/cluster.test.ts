import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind } from '../interop/clients.ts';
import { programs, type RunningServer } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';
import { at, World } from './world.ts';

/** Official clients, whose requests reach two servers in turn that use one Redis. */

const OFFICIAL: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
const command = findRedis();
let redis: RedisServer;
let world: World;

/** Sends each request to the next server that is there. */
async function roundRobin(servers: readonly RunningServer[]) {
  const counts = servers.map(() => 0);
  let turn = 0;
  const front = createServer((incoming, response) => {
    const pass = (attempts: number): void => {
      const index = (turn += 1) % servers.length;
      const { port } = new URL(servers[index]!.url);
      const { method, url, headers } = incoming;
      const onward = request({ port, host: '127.0.0.1', path: url, method, headers }, (reply) => {
        counts[index]! += 1;
        response.writeHead(reply.statusCode!, reply.headers);
        reply.pipe(response);
        reply.on('error', () => response.destroy());
      });
      onward.on('error', () => (attempts > 0 ? pass(attempts - 1) : response.destroy()));
      response.on('close', () => onward.destroy());
      onward.end(body);
    };
    let body = Buffer.alloc(0);
    incoming.on('data', (chunk: Buffer) => void (body = Buffer.concat([body, chunk])));
    incoming.on('end', () => pass(1));
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    front.closeAllConnections();
    front.close();
  });
  const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  return { url: `${origin}/mcp`, sseUrl: `${origin}/sse`, counts };
}

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
    const front = await roundRobin(servers);
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
