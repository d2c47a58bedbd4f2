import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial, type ClientKind, type OfficialClient } from '../interop/clients.ts';
import { programs, type RunningServer } from '../support/process.ts';
import { findRedis, startRedis, type RedisServer } from '../support/redis-server.ts';
import { frontOf, type Front, type Passing } from './front.ts';
import { at, World } from './world.ts';

/** What reaches a client outside of its calls, if several processes serve it. */

const HANDSHAKE: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy'];
const KEY = 'the-state-key-of-all-processes';
const command = findRedis();
let redis: RedisServer;
let world: World;

/** The session is opened at the first server, which has its own stream. Calls go to the second one. */
const callsSecond = ({ body }: Passing): number => (body.includes('"tools/call"') ? 1 : 0);

async function serveTwo(): Promise<RunningServer[]> {
  const args = [...programs.features, '--store', redis.url, '--state-key', KEY];
  return [await world.serve(args), await world.serve(args)];
}

interface Started {
  readonly servers: readonly RunningServer[];
  readonly front: Front;
  readonly client: OfficialClient;
}

async function start(
  kind: ClientKind,
  choose: (passing: Passing) => number | undefined,
  transport: 'http' | 'sse' = 'http',
): Promise<Started> {
  const servers = await serveTwo();
  const front = await frontOf(servers, choose);
  const client = await connectOfficial(kind, transport, at(front));
  onTestFinished(() => client.close().catch(() => {}));
  return { servers, front, client };
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

  test.each<ClientKind>([...HANDSHAKE, 'client 2.x modern'])(
    'say at one what has changed at the other (%s)',
    async (kind) => {
      const { client } = await start(kind, callsSecond);
      const stop = await client.followLists();
      await client.subscribe('feature://fixed');
      await client.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } });
      await client.notice('notifications/resources/updated', ({ uri }) => uri === 'feature://fixed');
      await client.callTool({ name: 'grow', arguments: { name: 'grown' } });
      await client.notice('notifications/tools/list_changed');
      await stop();
      expect(client.errors).toEqual([]);
    },
  );

  test.each(HANDSHAKE)('take a subscription that reaches the other one (%s)', async (kind) => {
    const { client } = await start(kind, ({ body }) =>
      /"(?:tools\/call|resources\/(?:un)?subscribe)"/.test(body) ? 1 : 0,
    );
    const touch = (uri: string) => client.callTool({ name: 'touch', arguments: { uri } });
    const updated = (wanted: string) => client.notice('notifications/resources/updated', ({ uri }) => uri === wanted);
    const unsubscribe = await client.subscribe('feature://fixed');
    await client.subscribe('feature://bytes');
    await touch('feature://fixed');
    await updated('feature://fixed');
    await unsubscribe();
    const before = client.notices.length;
    await touch('feature://fixed');
    await touch('feature://bytes');
    await updated('feature://bytes');
    expect(client.notices.slice(before).map(({ params }) => params?.['uri'])).toEqual(['feature://bytes']);
    expect(client.errors).toEqual([]);
  });

  test('say over HTTP+SSE what has changed at the other one', async () => {
    const servers = await serveTwo();
    const client = await connectOfficial('sdk 1.x', 'sse', at(servers[0]!));
    onTestFinished(() => client.close().catch(() => {}));
    await client.subscribe('feature://fixed');
    const other = await connectOfficial('sdk 1.x', 'http', at(servers[1]!));
    onTestFinished(() => other.close().catch(() => {}));
    await other.callTool({ name: 'touch', arguments: { uri: 'feature://fixed' } });
    await client.notice('notifications/resources/updated', ({ uri }) => uri === 'feature://fixed');
    await other.callTool({ name: 'grow', arguments: { name: 'grown' } });
    await client.notice('notifications/tools/list_changed');
  });
});
