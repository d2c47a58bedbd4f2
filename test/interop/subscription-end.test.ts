import { Client, StreamableHTTPClientTransport, type McpSubscription } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { McpServer } from '../../src/server/index.ts';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { startServer, programs } from '../support/process.ts';

/** How a subscription ends for the official client (2026-07-28, patterns/subscriptions: Graceful Closure). */

type ClientTransport = Parameters<Client['connect']>[0];

const WANTED = { toolsListChanged: true } as const;

async function listening(transport: ClientTransport): Promise<{ client: Client; subscription: McpSubscription }> {
  const mode = { pin: '2026-07-28' };
  const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  await client.connect(transport);
  const subscription = await client.listen(WANTED);
  expect(subscription.honoredFilter).toEqual(WANTED);
  return { client, subscription };
}

function served(): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  server.tool('now', {}, () => 'noon');
  onTestFinished(() => server.close());
  return server;
}

const ways: [name: string, connect: (server: McpServer) => Promise<ClientTransport>][] = [
  [
    'HTTP',
    async (server) => {
      const { url } = await server.listen({ port: 0 });
      return new StreamableHTTPClientTransport(new URL(url));
    },
  ],
  [
    'fetch',
    async (server) => {
      const fetch = (url: string | URL, init?: RequestInit): Promise<Response> => server.fetch(new Request(url, init));
      return new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch });
    },
  ],
  [
    'a connection',
    async (server) => {
      const [near, far] = memoryTransportPair();
      await server.connect(far);
      return near;
    },
  ],
];

describe.each(ways)('over %s', (_, connect) => {
  test('a subscription ends gracefully if the server closes', async () => {
    const server = served();
    const { subscription } = await listening(await connect(server));
    await server.close();
    expect(await subscription.closed).toBe('graceful');
  });

  test('a subscription ends if its own client closes, and others continue', async () => {
    const server = served();
    const { client, subscription } = await listening(await connect(server));
    const other = await client.listen(WANTED);
    await subscription.close();
    expect(await subscription.closed).toBe('local');
    const changed = new Promise<void>((resolve) => {
      client.setNotificationHandler('notifications/tools/list_changed', () => resolve());
    });
    server.tool('later', {}, () => 'evening');
    await changed;
    await server.close();
    expect(await other.closed).toBe('graceful');
  });
});

test('a subscription ends gracefully if the server gets SIGTERM, and not if it is killed', async () => {
  const [asked, killed] = await Promise.all([programs.features, programs.features].map((args) => startServer(args)));
  onTestFinished(async () => void (await Promise.all([asked!.stop(), killed!.stop()])));
  const subscriptions = await Promise.all(
    [asked!, killed!].map(({ url }) => listening(new StreamableHTTPClientTransport(new URL(url)))),
  );
  asked!.child.kill('SIGTERM');
  killed!.child.kill('SIGKILL');
  expect(await Promise.all(subscriptions.map(({ subscription }) => subscription.closed))).toEqual([
    'graceful',
    'remote',
  ]);
});
