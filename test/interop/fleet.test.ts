import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBridge, openFleet, readConfig, type FleetChange, type OpenFleet } from '../../src/bridge/index.ts';
import type { Service } from '../../src/core/exchange.ts';
import { fetchListener } from '../../src/transport/http/server/fetch.ts';
import { createHttpHandler } from '../../src/transport/http/server/handler.ts';
import { createInbound } from '../../src/wire/serve.ts';
import { fleetOf, toolServer } from '../support/fleet.ts';
import { eventually, root } from '../support/process.ts';
import { eras, reader, textOf } from '../support/reader.ts';
import { scripted } from '../support/service.ts';
import { connect, type ClientKind } from './clients.ts';

const program = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`));
const mortal = `${root}test/fixtures/mortal.mjs`;

interface World {
  readonly fleet: OpenFleet;
  readonly folder: string;
  readonly warnings: string[];
  readonly changes: FleetChange[];
  write(servers: object): void;
}

/** The servers of a file as processes, each behind its own bridge. */
async function opened(servers: (folder: string) => object): Promise<World> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'everwire-fleet-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'mcp.json');
  const write = (mcpServers: object): void => writeFileSync(file, JSON.stringify({ mcpServers }));
  write(servers(folder));
  const [warnings, changes]: [string[], FleetChange[]] = [[], []];
  const fleet = await openFleet(readConfig(file), {
    watch: true,
    connect: (_, server) => {
      if (server.kind === 'url') throw new Error('there is none in these files');
      const { command, args, env } = server;
      return createBridge({ target: { command, args, env, stderr: 'ignore' } });
    },
    onwarning: (warning) => void warnings.push(warning),
    onchange: (change) => void changes.push(change),
  });
  onTestFinished(() => fleet.close());
  return { fleet, folder, warnings, changes, write };
}

/** Serves HTTP without a socket. */
function served(service: Service): (request: Request) => Promise<Response> {
  const inbound = createInbound(service);
  const { onsession, onrequest } = inbound;
  const handler = createHttpHandler({ onsession, onrequest });
  onTestFinished(async () => {
    await inbound.close(0);
    await handler.close();
  });
  return fetchListener(handler);
}

const node = (...args: string[]) => ({ command: process.execPath, args });

describe('the official servers in one file', () => {
  test('serve official clients of both eras at the same time, together and separately', async () => {
    const { fleet, folder, warnings } = await opened((here) => ({
      everything: { ...node(program('everything'), 'stdio'), tools: { rename: { echo: 'say' } } },
      files: { ...node(program('filesystem'), here), tools: { hide: ['move_file'] } },
      memory: { ...node(program('memory')), env: { MEMORY_FILE_PATH: path.join(here, 'memory.jsonl') } },
    }));
    writeFileSync(path.join(folder, 'note.txt'), 'remember the milk');
    const fetch = served(fleet.service);
    const clients = await Promise.all(eras.map((era) => reader(fetch, { era })));
    for (const client of clients) {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(['say', 'files__read_text_file', 'memory__create_entities', 'everything__get-sum']),
      );
      expect(names).not.toContain('everything__echo');
      expect(names).not.toContain('files__move_file');
      expect(new Set(names).size).toBe(names.length);
      expect(textOf(await client.callTool({ name: 'say', arguments: { message: 'hi' } }))).toBe('Echo: hi');
      const file = path.join(folder, 'note.txt');
      const read = await client.callTool({ name: 'files__read_text_file', arguments: { path: file } });
      expect(textOf(read)).toBe('remember the milk');
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toContain('everything__simple-prompt');
      const { resources } = await client.listResources();
      const { uri } = resources[0]!;
      expect(uri).toMatch(/^everwire\+everything:demo:/);
      // With the URI that the list shows, and with the server's own URI, which tools may mention in a text.
      for (const each of [uri, uri.replace('everwire+everything:', '')]) {
        const { contents } = await client.readResource({ uri: each });
        expect(contents[0]?.uri).toBe(each);
      }
    }
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['reads'] }];
    await clients[0]!.callTool({ name: 'memory__create_entities', arguments: { entities } });
    const graph = textOf(await clients[1]!.callTool({ name: 'memory__read_graph', arguments: {} }));
    expect(JSON.parse(String(graph)).entities).toMatchObject(entities);
    for (const era of eras) {
      const alone = await reader(served(fleet.services.get('files')!), { era });
      const names = (await alone.listTools()).tools.map(({ name }) => name);
      expect(names).toContain('read_text_file');
      expect(names).not.toContain('say');
    }
    expect(warnings).toEqual([]);
  });
});

describe.each(eras)('with a client of %s', (era) => {
  test('a server that exits is started again, without effect on the others', async () => {
    const { fleet, warnings } = await opened(() => ({
      one: node(mortal),
      two: node(mortal),
      dead: node(mortal, 'dead'),
    }));
    const client = await reader(served(fleet.service), { era });
    const pid = async (name: string): Promise<unknown> => textOf(await client.callTool({ name: `${name}__pid` }));
    const [one, two] = [await pid('one'), await pid('two')];
    await expect(client.callTool({ name: 'one__die' })).rejects.toThrow('exited with code 4');
    expect(await pid('two')).toBe(two);
    const again = await pid('one');
    expect(again).toMatch(/^\d+$/);
    expect(again).not.toBe(one);
    await client.listTools();
    expect(warnings).toContainEqual(expect.stringContaining('the server "dead" does not answer'));
    expect(warnings.join()).not.toContain('"two"');
  });

  test('a changed file is applied, and unchanged servers keep their processes', async () => {
    const { fleet, changes, write } = await opened(() => ({ one: node(mortal), two: node(mortal) }));
    const client = await reader(served(fleet.service), { era });
    const pid = async (name: string): Promise<unknown> => textOf(await client.callTool({ name: `${name}__pid` }));
    const [one, two] = [await pid('one'), await pid('two')];
    write({ two: { ...node(mortal), env: { CHANGED: '1' } }, one: node(mortal), three: node(mortal) });
    await eventually(() => changes.length === 1, 'the change was taken up');
    expect(changes).toEqual([{ added: ['three'], removed: [], changed: ['two'] }]);
    expect(await pid('one')).toBe(one);
    expect(await pid('two')).not.toBe(two);
    expect(await pid('three')).toMatch(/^\d+$/);
    write({ one: node(mortal), four: node(mortal) });
    await eventually(() => changes.length === 2, 'the next change was taken up');
    await expect(pid('three')).rejects.toThrow('a name begins with the name of its server: one__, four__');
    expect(await pid('one')).toBe(one);
  });
});

test.each<ClientKind>(['sdk 1.x', 'client 2.x legacy', 'client 2.x modern'])(
  'a server that writes null for what it does not use is listed for %s, together with the others',
  async (kind) => {
    const unused = { title: null, description: null, icons: null, annotations: null, _meta: null };
    const tool = { name: 'x', inputSchema: { type: 'object', required: null }, outputSchema: null, execution: null };
    const argument = { name: 'a', description: null, required: null };
    const handwritten = scripted({
      'server/discover': () => ({
        capabilities: { tools: { listChanged: null }, prompts: {}, resources: { subscribe: 'no' }, logging: null },
      }),
      'tools/list': () => ({ tools: [{ ...tool, ...unused }] }),
      'prompts/list': () => ({ prompts: [{ ...unused, name: 'p', arguments: [argument] }] }),
      'resources/list': () => ({ resources: [{ ...unused, uri: 'x:1', name: 'r', size: null, mimeType: null }] }),
      'resources/templates/list': () => ({ resourceTemplates: [{ ...unused, uriTemplate: 'x:{a}', name: 't' }] }),
    });
    const { fleet, warnings } = fleetOf({ a: handwritten, b: toolServer('b', ['y']) });
    const target = { stdio: [], url: 'http://localhost/mcp', sseUrl: '', fetch: served(fleet.service) };
    const client = await connect(kind, 'http', target);
    onTestFinished(() => client.close());
    const { methods } = client;
    const names = (entries: { name: string }[]): string[] => entries.map(({ name }) => name);
    expect(names((await methods.listTools())['tools'])).toEqual(['a__x', 'b__y']);
    expect(names((await methods.listPrompts())['prompts'])).toEqual(['a__p']);
    expect(names((await methods.listResources())['resources'])).toEqual(['r']);
    expect(names((await methods.listResourceTemplates())['resourceTemplates'])).toEqual(['t']);
    expect(warnings).toHaveLength(5);
  },
);

test.each<ClientKind>(['sdk 1.x', 'client 2.x legacy', 'client 2.x modern'])(
  'output schemas that the official client cannot compile do not take the list of the others from %s',
  async (kind) => {
    const object = { type: 'object' };
    const outputs: Record<string, object> = {
      misspelt: { ...object, properties: { a: { type: 'strin' } } },
      openapi: { ...object, properties: { a: { anyOf: [object], nullable: true } } },
      draft4: { ...object, properties: { a: { type: 'number', exclusiveMinimum: true } } },
      id: { ...object, properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { id: 'A', type: 'string' } } },
      circular: { ...object, properties: { a: { $ref: '#/properties/a' } } },
      pattern: { ...object, properties: { a: { type: 'string', pattern: '\\-' } } },
    };
    const result = { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] };
    const listed = (entries: [string, object][]) => ({
      'tools/list': () => ({
        tools: entries.map(([name, outputSchema]) => ({ name, inputSchema: object, outputSchema })),
      }),
      'tools/call': () => ({ content: [], structuredContent: { x: 'y' } }),
    });
    // The first server takes the `$id` of the second one.
    const { $id, ...other } = { $id: 'https://b.test/output', ...object, required: ['z'] };
    const { fleet, warnings } = fleetOf({
      a: scripted(listed([...Object.entries(outputs), ['valid', result], ['same', { $id, ...other }]]), { tools: {} }),
      b: scripted(listed([['y', { $id, ...result }]]), { tools: {} }),
    });
    const target = { stdio: [], url: 'http://localhost/mcp', sseUrl: '', fetch: served(fleet.service) };
    const client = await connect(kind, 'http', target);
    onTestFinished(() => client.close());
    const { tools } = await client.methods.listTools();
    const schemas = Object.fromEntries(
      tools.map((tool: { name: string; outputSchema?: object }) => [tool.name, tool.outputSchema]),
    );
    expect(schemas).toEqual({
      ...Object.fromEntries(Object.keys(outputs).map((name) => [`a__${name}`, undefined])),
      ...{ a__valid: result, a__same: other, b__y: result },
    });
    expect(await client.callTool({ name: 'b__y' })).toMatchObject({ structuredContent: { x: 'y' } });
    await expect(client.callTool({ name: 'a__same' })).rejects.toThrow('z');
    expect(warnings).toEqual([expect.stringContaining('"misspelt": outputSchema.properties.a.type must be a type')]);
  },
);
