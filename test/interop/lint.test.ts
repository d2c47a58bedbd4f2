import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Capture } from '../../src/inspect/capture.ts';
import { readRecording } from '../../src/inspect/read-recording.ts';
import { lint, Linter, RULES, type Finding, type LintRecord } from '../../src/lint/index.ts';
import { node, temporaryFolder } from '../support/command-line.ts';
import { eventually, programs, root, startNode, startServer } from '../support/process.ts';
import { tcpTap } from '../support/tcp-tap.ts';
import { connect, type ClientKind, type OfficialClient, type TransportKind } from './clients.ts';
import { v1Http, v1Sse, v2Http, v2HttpSession } from './client/official-servers.ts';
import { ourClient } from './client/our-client.ts';
import { features, type Peer } from './features.ts';
import { DOUBTFUL } from './lint-doubtful.ts';
import { accepts, freePort } from './moving/commands.ts';
import { demo, featureServer } from './peers.ts';
import { PUBLISHED, type PublishedServer } from './published-servers.ts';
import { serveBoth } from './servers.ts';

const used = new Set<(typeof DOUBTFUL)[number]>();
const exercised = new Set<string>();

/** Findings of clean traffic, without those that the specification's text settles. */
async function findingsIn(records: AsyncIterable<LintRecord | readonly LintRecord[]>, who: string): Promise<string[]> {
  const found: Finding[] = [];
  const linter = new Linter();
  for await (const finding of lint(records, linter)) if (finding.rule.severity !== 'advice') found.push(finding);
  for (const id of linter.exercised) exercised.add(id);
  const left = found.filter(({ rule, seen }) => {
    const known = DOUBTFUL.find((each) => each.rule === rule.id && each.who.test(who) && each.seen.test(seen));
    if (known) used.add(known);
    return !known;
  });
  return left.map(({ rule, revision, seen, records: [n] }) => `${who}: ${rule.id} (${revision}, ${n}): ${seen}`);
}

/** Uses every feature of a server. What fails is not of interest here. */
async function useAll(client: OfficialClient, peer: Peer): Promise<void> {
  for (const { has, run } of features) {
    if (!has(peer)) continue;
    await run(client, peer).catch(() => {});
  }
}

const CLIENTS: readonly ClientKind[] = ['sdk 1.x', 'client 2.x legacy', 'client 2.x modern'];

type Program = readonly [name: string, peer: Peer, http: readonly string[], stdio: readonly string[]];

/** Servers that are programs, with the arguments of `node` over HTTP and over stdio. */
const PROGRAMS: readonly Program[] = [
  ['demo', demo, [...programs.everwire, 'demo', '--port', '0'], [...programs.everwire, 'demo', '--stdio']],
  ['features', featureServer, [...programs.features, '--port', '0'], [...programs.features, '--stdio']],
];

/** What a server with a handshake but without sessions can do. */
const { name: serverName, lists, structured, resource, prompt, completion, invalidArguments } = featureServer;
const WITHOUT_SESSION: Peer = {
  ...{ name: serverName, lists, structured, resource, prompt, completion, invalidArguments },
  missingResource: featureServer.missingResource,
  namesMissingResource: false,
};

/** Uses a server over HTTP through a tap. */
async function overHttp(
  who: string,
  port: number,
  use: (moved: (url: string) => string) => Promise<void>,
): Promise<string[]> {
  const capture = new Capture();
  const tap = await tcpTap(capture, port);
  await use((url) => url.replace(/:\d+/, `:${tap.port}`));
  await tap.stop();
  capture.close();
  return findingsIn(capture.records(), who);
}

/** Uses a program over stdio through an observer that records to a file. */
async function overStdio(
  who: string,
  kind: ClientKind,
  stdio: readonly string[],
  use: (client: OfficialClient) => Promise<void>,
  revisions?: { revisions: string[] },
): Promise<string[]> {
  const file = path.join(temporaryFolder(), 'session.mcpcap');
  const observer = [...programs.everwire, 'inspect', '--through', '--no-open', '--record', file, '--', node, ...stdio];
  const client = await connect(kind, 'stdio', { stdio: observer, url: '', sseUrl: '' }, revisions);
  await use(client);
  await client.close();
  return findingsIn(await readRecording(file), who);
}

/** Uses a program that listens at a port. */
async function overPort(
  who: string,
  [kind, over]: [ClientKind, TransportKind],
  args: readonly string[],
  place: string,
  use: (client: OfficialClient) => Promise<void>,
): Promise<string[]> {
  const port = Number.parseInt(place, 10);
  const server = startNode(args, { PORT: String(port) });
  await eventually(() => accepts(port), `${who}: the server listens`);
  const found = await overHttp(who, port, async (moved) => {
    const url = moved(`http://127.0.0.1:${place}`);
    const client = await connect(kind, over, { stdio: [], url, sseUrl: url, fetch: withKey });
    await use(client);
    await client.close();
  });
  await server.stop();
  return found;
}

/** Calls of tools that some of the servers have. */
const CALLS = [
  { name: 'echo', arguments: { message: 'hello' } },
  { name: 'get-sum', arguments: { a: 1, b: 2 } },
  { name: 'get-structured-content', arguments: { location: 'Chicago' } },
  { name: 'get-tiny-image', arguments: {} },
  { name: 'get-resource-links', arguments: { count: 2 } },
  { name: 'search', arguments: { words: 'o' } },
  { name: 'cover', arguments: {} },
  { name: 'list_directory', arguments: { path: root } },
  { name: 'read_graph', arguments: {} },
  {
    name: 'sequentialthinking',
    arguments: { thought: 'a', thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false },
  },
];

/** Requests what a server lists, and calls the tools that it may have. What fails is not of interest here. */
async function useSome({ methods, callTool }: OfficialClient): Promise<void> {
  await methods.listTools();
  const { prompts, resources } = methods.getServerCapabilities() ?? {};
  if (prompts) await methods.listPrompts();
  if (resources) await methods.listResources();
  for (const call of CALLS) await callTool(call).catch(() => {});
}

/** The server on `docs/moving/fastmcp.md` that replaces one of fastmcp. */
const MOVED: PublishedServer = {
  ...{ name: 'a server moved from fastmcp', over: 'http', path: '/mcp', clients: ['sdk 1.x'] },
  args: () => [`${root}dist/examples/moving/fastmcp/everwire.js`],
};

/** The library servers ask for a key. */
const withKey = (request: Request): Promise<Response> => {
  request.headers.set('x-api-key', 'key-of-ada');
  return fetch(request);
};

describe('clean traffic has no finding', () => {
  const cells = PROGRAMS.flatMap(([name, ...server]) =>
    CLIENTS.flatMap((client) => (['http', 'sse'] as const).map((over) => [client, name, over, server] as const)),
  );

  test.each(cells.filter(([client, , over]) => over !== 'sse' || client !== 'client 2.x modern'))(
    '%s with %s over %s',
    async (kind, name, over, [peer, http, stdio]) => {
      const { target, stop } = await serveBoth(http, stdio);
      const who = `${kind} with ${name} over ${over}`;
      const found = await overHttp(who, Number(new URL(target.url).port), async (moved) => {
        const client = await connect(kind, over, { ...target, url: moved(target.url), sseUrl: moved(target.sseUrl) });
        await useAll(client, peer);
        await client.close();
      });
      await stop();
      expect(found).toEqual([]);
    },
  );

  const stdioCells = PROGRAMS.flatMap(([name, peer, , stdio]) =>
    CLIENTS.map((client) => [client, name, peer, stdio] as const),
  );

  test.each(stdioCells)('%s with %s over stdio', async (kind, name, peer, stdio) => {
    const who = `${kind} with ${name} over stdio`;
    expect(await overStdio(who, kind, stdio, (client) => useAll(client, peer))).toEqual([]);
  });

  const OFFICIAL: readonly [name: string, start: typeof v1Http, clients: readonly ClientKind[], over: TransportKind][] =
    [
      ['server 1.x', v1Http, ['sdk 1.x', 'client 2.x legacy'], 'http'],
      ['server 1.x', v1Sse, ['sdk 1.x', 'client 2.x legacy'], 'sse'],
      ['server 2.x with sessions', v2HttpSession, ['sdk 1.x', 'client 2.x legacy'], 'http'],
      ['server 2.x of both eras', () => v2Http('stateless'), CLIENTS, 'http'],
      ['server 2.x without handshakes', () => v2Http('reject'), ['client 2.x modern'], 'http'],
    ];
  const officialCells = OFFICIAL.flatMap(([name, start, clients, over]) =>
    clients.map((client) => [client, name, over, start] as const),
  );

  test.each(officialCells)('%s with %s over %s', async (kind, name, over, start) => {
    const { target, stop } = await start();
    if (typeof target !== 'string') throw new Error('it has no URL');
    const who = `${kind} with ${name} over ${over}`;
    const found = await overHttp(who, Number(new URL(target).port), async (moved) => {
      const url = moved(target);
      const client = await connect(kind, over, { stdio: [], url, sseUrl: url });
      const isStateless = kind !== 'client 2.x modern' && name.includes('of both eras');
      await useAll(client, isStateless ? WITHOUT_SESSION : { ...featureServer, namesMissingResource: false });
      await client.close();
    });
    await stop();
    expect(found).toEqual([]);
  });

  const publishedCells = [...PUBLISHED, MOVED].flatMap((server) =>
    server.clients.map((client) => [client, server.name, server.over, server] as const),
  );

  test.each(publishedCells)('%s with %s over %s', async (kind, name, over, { args, path: route = '', peer }) => {
    const who = `${kind} with ${name} over ${over}`;
    const use = (client: OfficialClient): Promise<void> => (peer ? useAll(client, peer) : useSome(client));
    const remote = await startServer([...programs.everwire, 'demo', '--port', '0']);
    const port = await freePort();
    const started = args(port, remote.url);
    const found =
      over === 'stdio'
        ? overStdio(who, kind, started, use)
        : overPort(who, [kind, over], started, `${port}${route}`, use);
    expect(await found).toEqual([]);
    await remote.stop();
  });

  test('ten published servers have been judged', () => {
    const names = [...new Set(PUBLISHED.map(({ name }) => name))];
    console.info(`published servers: ${names.join(', ')}`);
    expect(names.length).toBeGreaterThanOrEqual(10);
  });

  test.each(['2024-11-05', '2025-03-26', '2025-06-18'])('a client of %s over HTTP and stdio', async (revision) => {
    const [name, peer, http, stdio] = PROGRAMS[1]!;
    const { target, stop } = await serveBoth(http, stdio);
    const revisions = { revisions: [revision] };
    const found = await overHttp(
      `${revision} with ${name} over http`,
      Number(new URL(target.url).port),
      async (moved) => {
        const client = await connect('client 2.x legacy', 'http', { ...target, url: moved(target.url) }, revisions);
        await useAll(client, peer);
        await client.close();
      },
    );
    await stop();
    expect(found).toEqual([]);
    const who = `${revision} with ${name} over stdio`;
    expect(await overStdio(who, 'client 2.x legacy', stdio, (client) => useAll(client, peer), revisions)).toEqual([]);
  });

  test.each(['http', 'stdio'] as const)('our client over %s', async (over) => {
    const [name, peer, http, stdio] = PROGRAMS[1]!;
    const { target, stop } = await serveBoth(http, stdio);
    for (const eras of ['legacy', 'modern'] as const) {
      const capture = new Capture();
      const server = over === 'http' ? target.url : { command: node, args: [...stdio] };
      const client = await ourClient(server, { wiretap: capture, eras });
      await useAll(client, peer);
      await client.close();
      capture.close();
      expect(await findingsIn(capture.records(), `our client (${eras}) with ${name} over ${over}`)).toEqual([]);
    }
    await stop();
  });
});

test('every settled case still occurs', () => {
  expect(DOUBTFUL.filter((each) => !used.has(each))).toEqual([]);
  console.info(`${exercised.size} of ${RULES.length} rules had something to judge in clean traffic`);
  expect(exercised.size).toBeGreaterThan(100);
});
