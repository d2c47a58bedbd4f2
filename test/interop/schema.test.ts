import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programs } from '../support/process.ts';
import { meta } from '../support/modern.ts';
import type { OfficialClient, Target } from './clients.ts';
import { features, type Feature, type Peer } from './features.ts';
import { demo, everything, featureServer } from './peers.ts';
import { capabilitiesOf, RawClient } from './raw-client.ts';
import { RawModernClient } from './raw-modern-client.ts';
import { RevisionSchema, schemasPresent, violations } from './schema.ts';
import { bridged, serveBoth } from './servers.ts';

type JsonObject = Record<string, any>;

const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const TRANSPORTS = ['stdio', 'http', 'sse'] as const;

/** The first revision with a feature. */
const SINCE: Record<string, string> = {
  'structured output': '2025-06-18',
  elicitation: '2025-06-18',
  'elicitation by URL': '2025-11-25',
  tasks: '2025-11-25',
};

/** The file in which the child behind a bridge records their messages. */
const recordings = schemasPresent ? mkdtempSync(path.join(tmpdir(), 'everwire-tee-')) : '';
const recorded = (child: readonly string[]): string[] => [...programs.tee, recordings, process.execPath, ...child];

const servers: [name: string, peer: Peer, http: readonly string[], stdio: readonly string[]][] = [
  ['demo', demo, [...programs.everwire, 'demo', '--port', '0'], [...programs.everwire, 'demo', '--stdio']],
  ['feature server', featureServer, [...programs.features, '--port', '0'], [...programs.features, '--stdio']],
];
for (const [name, peer, child] of [
  ['bridge to the feature server', featureServer, [...programs.features, '--stdio']],
  ['bridge to server-everything', everything, programs.everything],
] as const) {
  const { http, stdio } = bridged(recorded(child));
  servers.push([name, peer, http, stdio]);
}

/** Requests that no client should send. A bridge also passes on what it does not understand. */
const MALFORMED: [method: string, params: JsonObject][] = [
  ['everwire/unheard-of', { with: ['params'] }],
  ['tools/call', {}],
  ['completion/complete', { ref: { type: 'ref/nothing' } }],
  ['logging/setLevel', { level: 'loud' }],
  ['initialize', {}],
];

if (!schemasPresent) console.info('Skipped: the schemas of the specification are not at ../shared/spec.');
const present = schemasPresent ? describe : describe.skip;

present.each(servers)('what the %s says', (_, peer, http, stdio) => {
  let target: Target;
  let stop: (() => Promise<unknown>) | undefined;

  beforeAll(async () => {
    ({ target, stop } = await serveBoth(http, stdio));
  });

  afterAll(() => stop?.());

  const cells = REVISIONS.flatMap((revision) => TRANSPORTS.map((transport) => [revision, transport] as const));

  test.each(cells)('is valid in %s over %s', async (revision, transport) => {
    const client = await RawClient.connect(revision, transport, target);
    try {
      expect(client.initializeResult['protocolVersion']).toBe(revision);
      for (const feature of features.filter((each) => each.has(peer) && (SINCE[each.name] ?? '') <= revision)) {
        await run(feature, client, peer);
      }
      await oddities(client, peer);
      if (revision === '2025-03-26') await batch(client);
    } finally {
      await client.close();
    }
    const schema = new RevisionSchema(revision, { strict: true });
    expect(violations(schema, 'server', client.received, client.sent)).toEqual([]);
  });
});

const NEWEST = '2026-07-28';
const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
} as const;

present.each(servers.slice(0, 2))(`what the %s says in ${NEWEST}`, (_, peer, http, stdio) => {
  let target: Target;
  let stop: (() => Promise<unknown>) | undefined;

  beforeAll(async () => {
    ({ target, stop } = await serveBoth(http, stdio));
  });

  afterAll(() => stop?.());

  test.each(['stdio', 'http'] as const)('is valid over %s', async (transport) => {
    const client = await RawModernClient.connect(transport, target);
    const codes: Record<string, number | undefined> = {};
    try {
      for (const feature of features.filter((each) => each.has(peer))) await run(feature, client, peer);
      await oddities(client, peer);
      for (const [name, refused] of Object.entries(refusals(client, transport))) {
        codes[name] = (await refused())['error']?.code;
      }
    } finally {
      await client.close();
    }
    expect(codes).toEqual({
      'another revision': -32022,
      'no capabilities': -32602,
      'a method that no longer exists': -32601,
      'a request that only servers send': -32601,
      'an invented state': -32602,
      ...(transport === 'http' && { 'another name in the header': -32020, 'another method in the header': -32020 }),
    });
    expect(client.errors).toEqual([]);
    expect(client.received.filter(({ id, method }) => id !== undefined && method !== undefined)).toEqual([]);
    const schema = new RevisionSchema(NEWEST, { strict: true });
    expect(violations(schema, 'server', client.received, client.sent)).toEqual([]);
  });
});

/** Requests that are refused before they reach the service. */
function refusals(client: RawModernClient, transport: 'stdio' | 'http'): Record<string, () => Promise<JsonObject>> {
  const known = meta();
  const { [META.capabilities]: _, ...incapable } = known;
  const call = { name: 'add', arguments: { a: 2, b: 4 } };
  const another = '2030-01-01';
  const refused: Record<string, () => Promise<JsonObject>> = {
    'another revision': () =>
      client.raw('tools/list', { _meta: { ...known, [META.version]: another } }, { 'mcp-protocol-version': another }),
    'no capabilities': () => client.raw('tools/list', { _meta: incapable }),
    'a method that no longer exists': () => client.raw('ping', { _meta: known }),
    'a request that only servers send': () => client.raw('roots/list', { _meta: known }),
    'an invented state': () => client.raw('tools/call', { ...call, requestState: 'made up', _meta: known }),
  };
  if (transport === 'stdio') return refused;
  return {
    ...refused,
    'another name in the header': () => client.raw('tools/call', { ...call, _meta: known }, { 'mcp-name': 'other' }),
    'another method in the header': () => client.raw('tools/list', { _meta: known }, { 'mcp-method': 'prompts/list' }),
  };
}

present('what a bridge says to its child', () => {
  afterAll(() => rmSync(recordings, { recursive: true, force: true }));

  test('is valid in the revision that they speak', () => {
    const spoken = new Map<string, number>();
    for (const file of readdirSync(recordings)) {
      const said: Record<string, JsonObject[]> = { client: [], server: [] };
      for (const row of readFileSync(path.join(recordings, file), 'utf8').trim().split('\n')) {
        const { from, line } = JSON.parse(row);
        said[from]!.push(...[JSON.parse(line)].flat());
      }
      const hello = said['client']!.find(({ method }) => method === 'initialize');
      const welcome = said['server']!.find(({ id, result }) => hello && id === hello['id'] && result);
      const revision: string = welcome?.['result'].protocolVersion ?? '2026-07-28';
      spoken.set(revision, (spoken.get(revision) ?? 0) + 1);
      const ours = said['client']!.filter(({ method, params }) => {
        // With this message, the bridge detects that a handshake is needed.
        if (hello && method === 'server/discover') return false;
        return !MALFORMED.some((each) => each[0] === method && JSON.stringify(each[1]) === JSON.stringify(params));
      });
      expect(violations(new RevisionSchema(revision), 'client', ours, said['server']!)).toEqual([]);
    }
    // One child for each session, and one first child for each bridge over HTTP, in the newest common revision.
    expect([...spoken.keys()].toSorted()).toEqual([...REVISIONS, '2026-07-28']);
  });
});

present('a capability that a client declares but its revision does not have', () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18'])('is not used in %s', async (revision) => {
    const target = { stdio: [...programs.features, '--stdio'], url: '', sseUrl: '' };
    const client = await RawClient.connect(revision, 'stdio', target, capabilitiesOf('2025-11-25'));
    const { isError, content } = await client
      .callTool({ name: 'visit' })
      .catch((error) => ({ isError: true, content: error.message }));
    if (revision < '2025-06-18') await client.callTool({ name: 'ask' }).catch(() => {});
    await client.close();
    expect({ isError, content }).toMatchObject({ isError: true });
    expect(client.questions).toEqual([]);
  });
});

async function run(feature: Feature, client: OfficialClient, peer: Peer): Promise<void> {
  try {
    await feature.run(client, peer);
  } catch (error) {
    throw new Error(`${feature.name}: ${(error as Error).message}`, { cause: error });
  }
}

/** Results that no feature returns: content of every kind, and errors of the protocol itself. */
async function oddities(client: OfficialClient, peer: Peer): Promise<void> {
  if (peer === featureServer) {
    await client.callTool({ name: 'content' });
    await client.callTool({ name: 'fail' });
    await client.callTool({ name: 'choose' }).catch(() => {});
    await client.methods.readResource({ uri: 'feature://bytes' });
  }
  if (peer === everything) {
    for (const name of ['get-annotated-message', 'get-resource-links', 'get-resource-reference', 'get-tiny-image']) {
      const args = { messageType: 'error', includeImage: true, count: 2, resourceType: 'Text', resourceId: 1 };
      await client.callTool({ name, arguments: args });
    }
  }
  for (const [method, params] of MALFORMED) await client.request(method, params).catch(() => {});
}

async function batch(client: RawClient): Promise<void> {
  const ids = ['batch-1', 'batch-2'];
  await client.send([
    ...ids.map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list' })),
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
  ]);
  for (const id of ids) await client.message((message) => message['id'] === id, `answer to ${id}`);
}
