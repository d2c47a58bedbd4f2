import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programs, startServer, type RunningServer } from '../../support/process.ts';
import { connect, type ClientKind, type OfficialClient, type Target } from '../clients.ts';
import { features, type Peer } from '../features.ts';
import { everything as alone } from '../peers.ts';
import { LATE_PROGRESS, textOf } from './feature.ts';

const program = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`));

const KINDS: readonly ClientKind[] = ['client 2.x modern', 'client 2.x legacy', 'sdk 1.x'];

/**
 * What differs for the official client of 2026-07-28: there is no subscribe request, with which the other client makes
 * the server log. Required URL elicitations become questions. No notification says that roots have changed.
 */
const OTHERWISE: ReadonlySet<string> = new Set(['logging', 'elicitation by URL', 'roots']);

const named = <T extends { readonly name: string }>(each: T): T => ({ ...each, name: `everything__${each.name}` });
const uriOf = (uri: string): string => `everwire+everything:${uri}`;

/** The other client, with the prefixed names that the server has in a fleet. */
function amongOthers(peer: Peer): Peer {
  const { lists, resource, completion, progress, cancel, subscription, urlElicitation, listChanged } = peer;
  const names = (all: readonly string[]): string[] => all.map((name) => named({ name }).name);
  return {
    ...peer,
    lists: {
      tools: names(lists.tools),
      prompts: names(lists.prompts),
      resources: lists.resources!.map(uriOf),
      templates: lists.templates.map(uriOf),
    },
    structured: { ...peer.structured, call: named(peer.structured.call) },
    resource: { ...resource, uri: uriOf(resource.uri) },
    prompt: named(peer.prompt),
    completion: { ...completion, params: { ...completion.params, ref: named(completion.params['ref']) } },
    invalidArguments: named(peer.invalidArguments),
    missingResource: uriOf(peer.missingResource),
    progress: { ...progress!, call: named(progress!.call) },
    cancel: { call: named(cancel!.call) },
    logging: {
      log: async ({ methods }, heard) => {
        const uri = `demo://resource/dynamic/text/${heard ? 1 : 2}`;
        await methods.subscribeResource({ uri: uriOf(uri) });
        await methods.unsubscribeResource({ uri: uriOf(uri) });
        return ({ data }) => String(data).includes(`Received Subscribe Resource request for URI: ${uri}`);
      },
    },
    subscription: { uri: uriOf(subscription!.uri), update: named(subscription!.update) },
    listChanged: (client) =>
      listChanged!({ ...client, callTool: (params, options) => client.callTool(named(params), options) }),
    sampling: { ...peer.sampling!, call: named(peer.sampling!.call) },
    elicitation: { ...peer.elicitation!, call: named(peer.elicitation!.call) },
    urlElicitation: {
      ...urlElicitation!,
      call: named(urlElicitation!.call),
      errorPath: named(urlElicitation!.errorPath!),
    },
    roots: { ...peer.roots!, call: named(peer.roots!.call) },
  };
}

const everything = amongOthers(alone);

/** Only 2025-11-25 has these tasks. */
const wanted = features.filter(({ name, has }) => has(everything) && name !== 'tasks');

interface Guest {
  readonly name: string;
  readonly client: OfficialClient;
}

/** Three popular servers, from a host's configuration file, with clients of both eras at the same time. */
describe('server-everything, server-filesystem and server-memory from one mcp.json', () => {
  let folder: string;
  let server: RunningServer;
  let guests: Guest[];
  const own: Guest[] = [];

  const target = (url: string): Target => ({ stdio: [], url, sseUrl: '' });
  const guest = async (kind: ClientKind, url: string): Promise<Guest> => {
    return { name: kind.replaceAll(/\W/g, '-'), client: await connect(kind, 'http', target(url)) };
  };

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'everwire-three-')));
    const node = (...args: string[]): object => ({ command: process.execPath, args });
    const file = path.join(folder, 'mcp.json');
    const mcpServers = {
      everything: node(...programs.everything),
      filesystem: node(program('filesystem'), folder),
      memory: { ...node(program('memory')), env: { MEMORY_FILE_PATH: '${env:GRAPH}' } },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    const GRAPH = path.join(folder, 'graph.jsonl');
    server = await startServer([...programs.everwire, 'bridge', '--port', '0', '--config', file], { GRAPH });
    guests = await Promise.all(KINDS.map((kind) => guest(kind, server.url)));
  });

  afterAll(async () => {
    await Promise.all([...(guests ?? []), ...own].map(({ client }) => client.close()));
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('are one server to all clients', async () => {
    for (const { client } of guests) {
      const { tools } = await client.methods.listTools();
      const names = tools.map(({ name }: { name: string }) => name);
      expect(names).toEqual(
        expect.arrayContaining(['everything__echo', 'filesystem__read_text_file', 'memory__create_entities']),
      );
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test.each(wanted.map(({ name, run }) => [name, run] as const))('%s, for all clients at once', async (name, run) => {
    const able = guests.filter(({ client }) => client.revision !== '2026-07-28' || !OTHERWISE.has(name));
    expect(able.length).toBeGreaterThan(1);
    await Promise.all(able.map(({ client }) => run(client, everything)));
  });

  test('a required URL elicitation is a question to the client of 2026-07-28, and its call is sent again', async () => {
    const { client } = guests[0]!;
    const from = client.questions.length;
    const { call, errorPath } = everything.urlElicitation!;
    const done = { content: [{ text: expect.stringContaining('User completed the URL elicitation') }, {}] };
    expect(await client.callTool(call)).toMatchObject(done);
    expect(await client.callTool(errorPath!)).toMatchObject(done);
    const modes = client.questions.slice(from).map(({ params }) => params?.['mode']);
    expect(modes).toEqual(['url', 'url', 'url']);
  });

  test('the client of 2026-07-28 is asked for its roots during a call', async () => {
    const { client } = guests[0]!;
    const { call, text } = everything.roots!;
    for (let time = 0; time < 2; time += 1) expect(textOf(await client.callTool(call))).toMatch(text);
    expect(client.questions.map(({ method }) => method)).toContain('roots/list');
  });

  test('write files for all clients at once', async () => {
    await Promise.all(
      guests.map(async ({ name, client }) => {
        const file = path.join(folder, `${name}.txt`);
        const wrote = await client.callTool({
          name: 'filesystem__write_file',
          arguments: { path: file, content: `by ${name}` },
        });
        expect(textOf(wrote)).toContain(file);
        expect(readFileSync(file, 'utf8')).toBe(`by ${name}`);
        expect(textOf(await client.callTool({ name: 'filesystem__read_text_file', arguments: { path: file } }))).toBe(
          `by ${name}`,
        );
      }),
    );
  });

  test('keep the data of all clients in the shared server', async () => {
    // One after the other, because each session has its own process and all of them write the same file.
    for (const { name, client } of guests) {
      const entities = [{ name, entityType: 'client', observations: [] }];
      await client.callTool({ name: 'memory__create_entities', arguments: { entities } });
    }
    const names = guests.map(({ name }) => name);
    await Promise.all(
      guests.map(async ({ client }) => {
        const { structuredContent } = await client.callTool({ name: 'memory__open_nodes', arguments: { names } });
        expect(structuredContent.entities.map(({ name }: { name: string }) => name)).toEqual(names);
      }),
    );
  });

  test('are also served separately', async () => {
    const url = new URL('/servers/memory/mcp', server.url).href;
    own.push(...(await Promise.all(KINDS.map((kind) => guest(kind, url)))));
    for (const { client } of own) {
      const { tools } = await client.methods.listTools();
      expect(tools.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['read_graph']));
      expect(tools).not.toContainEqual(expect.objectContaining({ name: 'echo' }));
      const graph = await client.callTool({ name: 'read_graph' });
      expect(graph['structuredContent'].entities.length).toBeGreaterThan(0);
    }
  });

  test('send each client only what it can parse', () => {
    for (const { client } of [...guests, ...own]) {
      expect(client.errors.map(({ message }) => message).filter((message) => !LATE_PROGRESS.test(message))).toEqual([]);
    }
  });
});
