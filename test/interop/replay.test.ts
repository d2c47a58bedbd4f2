import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { server as demoServer } from '../../examples/demo.ts';
import { waitFor } from '../../src/base/wait.ts';
import { connect as connectTo } from '../../src/client/connect.ts';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { readCalls } from '../../src/mock/read-calls.ts';
import { replay as replayTo } from '../../src/replay/replay.ts';
import type { HttpListener } from '../../src/transport/http/server/listen.ts';
import { featureServer as makeFeatureServer } from '../support/features.ts';
import { programs, startNode } from '../support/process.ts';
import { v1Http, v2Http } from './client/official-servers.ts';
import { connect, type ClientKind, type TransportKind } from './clients.ts';
import { features, type Peer } from './features.ts';
import { demo, everything, featureServer, resetNames } from './peers.ts';

/*
 * Official clients use the features of a server and are recorded. The requests of the recording find no difference in
 * the same server, started anew.
 */

const folder = mkdtempSync(path.join(tmpdir(), 'everwire-replay-'));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;

/** Milliseconds for one feature. */
const LIMIT = 20_000;

interface Case {
  readonly peer: Peer;
  /** The server as a child. */
  readonly child: readonly string[];
  /** The same over HTTP. */
  readonly serve?: (options: { port: number; wiretap?: Capture }) => Promise<HttpListener>;
  /** What differs each time. */
  readonly ignore?: readonly string[];
  readonly client: ClientKind;
  readonly transport: TransportKind;
  readonly revision: string;
}

type Server = Pick<Case, 'peer' | 'child' | 'serve' | 'ignore'>;

function casesOf(server: Server): Case[] {
  const cases: Case[] = [];
  for (const transport of server.serve ? (['stdio', 'http'] as const) : (['stdio'] as const)) {
    const add = (client: ClientKind, revision: string): void =>
      void cases.push({ ...server, client, transport, revision });
    add('client 2.x legacy', '2025-06-18');
    if (server.serve) add('client 2.x modern', '2026-07-28');
    add('sdk 1.x', '2025-11-25');
  }
  return cases;
}

const cases: readonly Case[] = [
  ...casesOf({
    peer: demo,
    child: [...programs.everwire, 'demo', '--stdio'],
    serve: (options) => demoServer.listen(options),
  }),
  ...casesOf({
    peer: featureServer,
    child: [...programs.features, '--stdio'],
    serve: (options) => makeFeatureServer().listen(options),
  }),
  // A time of day, a random id in a text, a log message 350 ms after the handshake, during any call, and a message of a task
  // that changes every second.
  ...casesOf({
    // It asks for the roots once, or twice if the first call for them comes while it asks.
    peer: { ...everything, roots: undefined },
    child: programs.everything,
    ignore: [
      ...['/contents/0/text', '/content/0/text', 'notifications/message'],
      ...['/statusMessage', '/tasks/*/statusMessage', 'notifications/tasks/status'],
    ],
  }),
];

/** How often a call was cancelled: clients ask until the number is right, and so a different number of times. */
const RACES = /cancel/i;

describe.each(cases.map((each) => [each.peer.name, each.client, each.transport, each.revision, each] as const))(
  '%s with %s over %s in %s',
  (_name, _client, transport, _revision, { peer, child, serve, ignore = [], client: kind, revision }) => {
    test('answers as in the recording', async () => {
      const file = path.join(folder, `${(files += 1)}.mcpcap`);
      resetNames();
      const inspect = ['inspect', '--through', '--no-open', '--record', file, '--'];
      const stdio = [...programs.everwire, ...inspect, process.execPath, ...child];
      const capture = new Capture();
      const recording = transport === 'http' ? await recordToFile(capture, file, { onerror: fail }) : undefined;
      const server = transport === 'http' ? await serve!({ port: 0, wiretap: capture }) : undefined;
      const target = { stdio, url: server?.url ?? '', sseUrl: '' };
      const client = await connect(kind, transport, target, kind === 'sdk 1.x' ? {} : { revisions: [revision] });
      for (const { run } of features.filter(({ name, has }) => has(peer) && !RACES.test(name)))
        await waitFor(run(client, peer), { timeout: LIMIT }).catch(() => {});
      await client.close();
      await server?.close();
      await recording?.close();

      const again = transport === 'http' ? await serve!({ port: 0 }) : undefined;
      const words = again ? [again.url, file] : [file, '--', process.execPath, ...child];
      const ignored = ignore.flatMap((place) => ['--ignore', place]);
      const replay = startNode([...programs.everwire, 'replay', '--no-login', '--call', '*', ...ignored, ...words]);
      const { code } = await replay.exited;
      await again?.close();
      const [, same] = /(\d+) same, 0 changed, 0 missing, 0 new/.exec(replay.stdout.join('\n')) ?? [];
      // In one line: a report of failures may have only the first.
      const printed = [...replay.stdout, ...replay.stderr].join(' | ');
      expect(same, printed).toBeDefined();
      expect(Number(same)).toBeGreaterThan(8);
      expect(code, printed).toBe(0);
    });
  },
);

describe.each([
  ['the official SDK 1.x', v1Http, '2025-11-25'],
  ['the official SDK 2.x', () => v2Http('stateless'), '2025-11-25'],
  ['the official SDK 2.x', () => v2Http('stateless'), '2026-07-28'],
] as const)('%s over HTTP', (_name, start, revision) => {
  const started = async (): Promise<string> => {
    const { target, stop } = await start();
    onTestFinished(async () => void (await stop()));
    if (typeof target !== 'string') throw new TypeError('it has no URL');
    return target;
  };

  test(`answers in ${revision} as in the recording`, async () => {
    const file = path.join(folder, `${(files += 1)}.mcpcap`);
    const capture = new Capture();
    const recording = await recordToFile(capture, file, { onerror: fail });
    const client = await connectTo(await started(), {
      ...{ revision, wiretap: capture, onroots: () => [{ uri: 'file:///tmp/project' }] },
      onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
      onsample: () => ({ role: 'assistant', content: { type: 'text', text: 'Hello' }, model: 'none' }),
    });
    await client.listTools();
    await client.listPrompts();
    await client.callTool('add', { a: 2, b: 3 });
    await client.callTool('count', { to: 3 }, { onprogress: () => {} });
    await client.callTool('ask');
    await client.callTool('roots');
    await client.callTool('grow', { name: 'grown' });
    await client.listTools({ fresh: true });
    await client.readResource('feature://item/7');
    await client.readResource('feature://no-such-thing').catch(() => {});
    await client.getPrompt('greet', { name: 'Ada' }).catch(() => {});
    await client.close();
    await recording.close();
    const url = await started();
    const result = await replayTo(await readCalls(file), {
      connect: (options) => connectTo(url, options),
      mayCall: () => true,
    });
    expect(result.requests.filter(({ outcome }) => outcome !== 'same')).toEqual([]);
    expect(result.counts.same).toBeGreaterThan(10);
  });
});

function fail(error: Error): void {
  throw error;
}
