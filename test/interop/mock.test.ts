import { rm } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../src/base/wait.ts';
import { programs, startNode, startServer, type RunningServer } from '../support/process.ts';
import { connect, type ClientKind, type Target, type TransportKind } from './clients.ts';
import { features, type Peer } from './features.ts';
import { demo, everything, featureServer, resetNames } from './peers.ts';

/*
 * The features of a server are recorded with an official client. Then the server is gone, and the same client finds the
 * same features at the mock of the recording.
 */

const folder = mkdtempSync(path.join(tmpdir(), 'everwire-mock-'));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;

/** Milliseconds for one feature. */
const LIMIT = 20_000;

interface Case {
  readonly peer: Peer;
  /** The server as a child. */
  readonly child: readonly string[];
  readonly client: ClientKind;
  readonly transport: TransportKind;
  readonly revision: string;
}

/** For each revision that the 2.x client can be limited to, and the 1.x client as it is. */
function casesOf(peer: Peer, child: readonly string[], transports: readonly TransportKind[]): Case[] {
  const cases: Case[] = [];
  for (const transport of transports) {
    const add = (client: ClientKind, revision: string): void =>
      void cases.push({ peer, child, client, transport, revision });
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
      if (transport !== 'sse' || revision === '2024-11-05') add('client 2.x legacy', revision);
    if (transport !== 'sse') add('client 2.x modern', '2026-07-28');
    add('sdk 1.x', '2025-11-25');
  }
  return cases;
}

const cases: readonly Case[] = [
  ...casesOf(demo, [...programs.everwire, 'demo', '--stdio'], ['stdio', 'http', 'sse']),
  ...casesOf(featureServer, [...programs.features, '--stdio'], ['stdio', 'http', 'sse']),
  ...casesOf(everything, programs.everything, ['stdio', 'http']).filter(({ revision }) => revision !== '2026-07-28'),
];

describe.each(cases.map((each) => [each.peer.name, each.client, each.transport, each.revision, each] as const))(
  'the mock of %s for %s over %s in %s',
  (_name, _client, _transport, _revision, { peer, child, client: kind, transport, revision }) => {
    const file = path.join(folder, `${(files += 1)}.mcpcap`);
    const wanted = features.filter(({ has }) => has(peer));
    /** What a client finds, with the error of each feature that fails. */
    const found = async (target: Target): Promise<Record<string, string>> => {
      resetNames();
      const client = await connect(kind, transport, target, kind === 'sdk 1.x' ? {} : { revisions: [revision] });
      const outcomes: Record<string, string> = {};
      for (const { name, run } of wanted)
        outcomes[name] = await waitFor(run(client, peer), { timeout: LIMIT }).then(
          () => 'ok',
          (error: unknown) => String(error),
        );
      await client.close();
      return outcomes;
    };
    let recorded: Record<string, string>;
    let mock: RunningServer | undefined;

    afterAll(() => mock?.stop());

    beforeAll(async () => {
      const through = [...programs.everwire, 'inspect', '--through', '--no-open', '--record', file, '--'];
      const bridge = [
        ...programs.everwire,
        'bridge',
        '--port',
        '0',
        '--record',
        file,
        '--',
        process.execPath,
        ...child,
      ];
      if (transport === 'stdio') {
        recorded = await found({ stdio: [...through, process.execPath, ...child], url: '', sseUrl: '' });
        return;
      }
      const server = await startServer(bridge);
      recorded = await found({ stdio: [], url: server.url, sseUrl: server.sseUrl });
      await server.stop();
    });

    test('is found as the server itself', async () => {
      const stdio = [...programs.everwire, 'mock', '--stdio', file];
      mock = transport === 'stdio' ? undefined : await startServer([...programs.everwire, 'mock', '--port', '0', file]);
      expect(await found({ stdio, url: mock?.url ?? '', sseUrl: mock?.sseUrl ?? '' })).toEqual(recorded);
      expect(Object.values(recorded).filter((outcome) => outcome === 'ok').length).toBeGreaterThan(8);
      expect(mock?.stderr.filter((line) => /recording/.test(line)) ?? []).toEqual([]);
    });
  },
);

describe('a client of another era', () => {
  const recordings = new Map<string, string>();
  beforeAll(async () => {
    for (const revision of ['2025-06-18', '2026-07-28']) {
      const file = path.join(folder, `era-${revision}.mcpcap`);
      const server = [process.execPath, ...programs.everwire, 'demo', '--stdio'];
      await startNode([
        ...programs.everwire,
        'call',
        'add',
        'a=2',
        'b=3',
        '--revision',
        revision,
        '--record',
        file,
        '--',
        ...server,
      ]).exited;
      recordings.set(revision, file);
    }
  });

  /** What a client gets from the mock of a recording: what it calls, or why it cannot connect. */
  async function outcome(kind: ClientKind, transport: TransportKind, words: readonly string[]): Promise<string> {
    const server = transport === 'stdio' ? undefined : await startServer(words);
    const stdio = transport === 'stdio' ? words : [];
    const target = { stdio, url: server?.url ?? '', sseUrl: server?.sseUrl ?? '' };
    const limits = kind === 'client 2.x legacy' ? { revisions: ['2025-06-18'] } : {};
    try {
      const client = await connect(kind, transport, target, limits);
      const { content } = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
      await client.close();
      return content[0].text;
    } catch (error) {
      return inspect(error);
    } finally {
      await server?.stop();
    }
  }
  const mock = (revision: string, transport: TransportKind): string[] => {
    const how = transport === 'stdio' ? ['--stdio'] : ['--port', '0'];
    return [...programs.everwire, 'mock', ...how, recordings.get(revision)!];
  };

  test.each(['stdio', 'http'] as const)('is told over %s why the mock does not answer it', async (transport) => {
    const advice =
      'Record a session in a revision of this client, or put a bridge before the mock: everwire bridge -- everwire mock --stdio <file>';
    for (const [kind, asked] of [
      ['sdk 1.x', '2025-11-25'],
      ['client 2.x legacy', '2025-06-18'],
    ] as const)
      expect(await outcome(kind, transport, mock('2026-07-28', transport))).toContain(
        `This mock speaks only 2026-07-28, as its recording does. The client asks for ${asked} with initialize, which 2026-07-28 does not have. ${advice}`,
      );
  });

  test('of 2026-07-28 hides the answer, so the mock prints it', async () => {
    const server = await startServer(mock('2025-06-18', 'http'));
    const target = { stdio: [], url: server.url, sseUrl: server.sseUrl };
    await expect(connect('client 2.x modern', 'http', target, {})).rejects.toThrow('2026-07-28');
    await server.line(
      /This mock speaks only 2025-06-18, as its recording does\. The client asks for 2026-07-28\. If it cannot go on with another revision, record a session in 2026-07-28, or put a bridge/,
    );
    await server.stop();
  });

  test.each(['stdio', 'http'] as const)('that speaks both eras finds the recorded one over %s', async (transport) => {
    for (const revision of recordings.keys())
      expect(await outcome('client 2.x auto', transport, mock(revision, transport))).toBe('5');
  });

  test('gets an answer through a bridge, as the message advises', async () => {
    for (const [kind, revision] of [
      ['sdk 1.x', '2026-07-28'],
      ['client 2.x modern', '2025-06-18'],
    ] as const) {
      const child = [process.execPath, ...mock(revision, 'stdio')];
      const bridge = [...programs.everwire, 'bridge', '--port', '0', '--', ...child];
      expect(await outcome(kind, 'http', bridge)).toBe('5');
    }
  });
});
