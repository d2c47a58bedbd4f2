import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { v1Http, v1Sse, v2Http } from '../interop/client/official-servers.ts';
import { officialV2 } from '../interop/client/official-v2.ts';
import { relayed } from '../interop/bridge-matrix/relay.ts';
import type { OfficialClient } from '../interop/clients.ts';
import { features, type Peer } from '../interop/features.ts';
import { everything, featureServer } from '../interop/peers.ts';
import { connectDriver, type Place } from '../languages/driver.ts';
import { dropping } from '../support/resuming-server.ts';
import { programs, root } from '../support/process.ts';
import { runtimes } from './runtime.ts';

const script = `${root}dist/test/runtimes/client.js`;
/** The official servers report a missing resource as invalid params, in every revision. */
const official: Peer = { ...featureServer, namesMissingResource: false };

interface Column {
  readonly heading: string;
  readonly peer: Peer;
  readonly place: Omit<Place, 'url' | 'command'>;
  readonly start: () => Promise<{ to: Pick<Place, 'url' | 'command'>; stop: () => Promise<unknown> }>;
}

const over =
  (start: typeof v1Http): Column['start'] =>
  async () => {
    const { target, stop } = await start();
    return { to: { url: target as string }, stop };
  };

const legacy = { era: 'legacy', revision: '2025-11-25' } as const;
const modern = { era: 'modern', revision: '2026-07-28' } as const;

/** Official servers on Node. */
const columns: readonly Column[] = [
  {
    heading: '1.x over stdio',
    peer: everything,
    place: { ...legacy, transport: 'stdio' },
    start: async () => ({ to: { command: [process.execPath, ...programs.everything] }, stop: async () => {} }),
  },
  { heading: '1.x over HTTP', peer: official, place: { ...legacy, transport: 'http' }, start: over(v1Http) },
  { heading: '1.x over HTTP+SSE', peer: official, place: { ...legacy, transport: 'sse' }, start: over(v1Sse) },
  {
    heading: '2.x over stdio',
    peer: official,
    place: { ...modern, transport: 'stdio' },
    start: async () => {
      const world = { grown: new Set<string>(), cancelled: 0 };
      const { args, stop } = await relayed((end) => {
        serveStdio(() => officialV2(world), { legacy: 'reject', transport: new StdioServerTransport(end, end) });
      });
      return { to: { command: [process.execPath, ...args] }, stop };
    },
  },
  {
    heading: '2.x over HTTP',
    peer: official,
    place: { ...modern, transport: 'http' },
    start: over(() => v2Http('reject')),
  },
];

/** Our client on another runtime. */
describe.each(runtimes)('a client on $name', ({ command }) => {
  const program = [...(command ?? []), script];

  describe.skipIf(command === undefined).each(columns)('to an official server $heading', ({ peer, place, start }) => {
    const wanted = features.filter(({ has }) => has(peer));
    let client: OfficialClient;
    let stop: (() => Promise<unknown>) | undefined;

    beforeAll(async () => {
      const server = await start();
      ({ stop } = server);
      client = await connectDriver(program, { ...place, ...server.to });
    });

    afterAll(async () => {
      await client?.close();
      await stop?.();
    });

    test('has the revision of the server', () => {
      expect(client.revision).toBe(place.revision);
    });

    test.each(wanted)('$name', ({ run }) => run(client, peer));

    test('the client reports no error', () => {
      expect(client.errors).toEqual([]);
    });
  });

  test.skipIf(command === undefined)('a stream that breaks off again and again is resumed', async () => {
    const { url, gets, calls } = await dropping(4);
    const client = await connectDriver(program, { ...legacy, transport: 'http', url: url.href });
    const { content } = await client.callTool({ name: 'long' });
    expect(content).toEqual([{ type: 'text', text: 'at last' }]);
    expect([calls(), gets()]).toEqual([1, 4]);
    await client.close();
  });
});
