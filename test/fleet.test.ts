import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { createFleet, type Fleet } from '../src/bridge/fleet/fleet.ts';
import type { Client } from '../src/client/client.ts';
import { connect } from '../src/client/connect.ts';
import type { Change } from '../src/client/handlers.ts';
import type { ClientOptions, LogMessage } from '../src/client/index.ts';
import type { Service } from '../src/core/exchange.ts';
import { McpServer } from '../src/server/mcp-server.ts';
import { memoryTransportPair } from '../src/transport/memory.ts';
import { connectUpstream } from '../src/wire/negotiate.ts';
import { serve } from '../src/wire/serve.ts';
import type { Upstream } from '../src/wire/upstream.ts';

type Era = 'legacy' | 'modern';

const unexpected = (error: Error): void => {
  throw error;
};

/** A library server. All have the same entries, and one of their own. */
function library(name: string): McpServer {
  const server = new McpServer({
    name,
    version: '1.0.0',
    instructions: `Read in ${name}.`,
    pageSize: 2,
    onerror: unexpected,
  });
  server.tool('count', { input: z.object({ title: z.string() }) }, ({ title }) => `${name}: ${title.length}`);
  server.tool(`${name}_only`, {}, () => `${name} alone`);
  server.tool('dust', {}, async (_, context) => {
    await context.progress(1, 2, name);
    await context.log('warning', 'spiders');
    return 'clean';
  });
  server.tool('join', {}, async (_, context) => {
    const first = await context.elicit({
      message: `Who are you, ${name} asks?`,
      schema: z.object({ who: z.string() }),
    });
    const second = await context.elicit({ message: 'And who else?', schema: z.object({ who: z.string() }) });
    return `${name}: ${JSON.stringify([first.content, second.content])}`;
  });
  server.tool('where', {}, async (_, context) => `${name}: ${JSON.stringify(await context.roots())}`);
  server.tool('link', {}, () => ({
    content: [{ type: 'resource_link', uri: 'library://rules', name: 'rules' }],
    structuredContent: {},
  }));
  server.tool('wait', {}, async (_, context) => {
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    return 'never';
  });
  server.resource('library://rules', { name: 'rules' }, () => `Silence in ${name}.`);
  server.resource(`${name}://own`, { name: 'own' }, () => name);
  server.resourceTemplate(
    'library://books/{title}',
    { name: 'book', complete: { title: () => [`${name}'s`] } },
    ({ title }) => `${title} of ${name}`,
  );
  server.prompt('review', { arguments: { title: {} } }, ({ title }) => `Review ${title} of ${name}`);
  return server;
}

/** A server of one era over its own connection. */
async function over(server: McpServer, eras: Era): Promise<Upstream> {
  const [ours, theirs] = memoryTransportPair();
  await server.connect(theirs);
  const upstream = await connectUpstream(ours, {
    clientInfo: { name: 'fleet', version: '1' },
    eras,
    ...(eras === 'legacy' && {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
    }),
    onerror: unexpected,
  });
  onTestFinished(() => upstream.close());
  return upstream;
}

interface World {
  readonly fleet: Fleet;
  readonly servers: Readonly<Record<'old' | 'new' | 'here', McpServer>>;
  readonly warnings: string[];
}

/** Three servers: one of each era behind a connection, and one in this process. */
async function world(): Promise<World> {
  const servers = { old: library('old'), new: library('new'), here: library('here') };
  const warnings: string[] = [];
  const fleet = createFleet({
    members: [
      { name: 'old', service: (await over(servers.old, 'legacy')).service },
      { name: 'new', service: (await over(servers.new, 'modern')).service },
      { name: 'here', service: servers.here.service },
    ],
    onwarning: (warning) => void warnings.push(warning),
  });
  onTestFinished(() => fleet.close());
  return { fleet, servers, warnings };
}

async function reader(service: Service, eras: Era, options: ClientOptions = {}): Promise<Client> {
  const transports = () => {
    const [ours, theirs] = memoryTransportPair();
    void serve(service, theirs, { onerror: unexpected, serverInfo: { name: 'all', version: '1' } });
    return ours;
  };
  const client = await connect(transports, { eras, onerror: unexpected, ...options });
  onTestFinished(() => client.close());
  return client;
}

const NAMES = ['old', 'new', 'here'];
const text = ({ content }: { content: { text?: string }[] }): string => content.map((block) => block.text).join();

describe.each<Era>(['legacy', 'modern'])('a fleet of servers of both eras, with a client of the %s era', (era) => {
  test('has the instructions and capabilities of all servers', async () => {
    const { fleet } = await world();
    const client = await reader(fleet.service, era);
    expect(client.serverCapabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: {},
      completions: {},
      logging: {},
    });
    expect(client.instructions).toBe('# old\n\nRead in old.\n\n# new\n\nRead in new.\n\n# here\n\nRead in here.');
  });

  test('lists all entries of its servers, and sends each call to its server', async () => {
    const { fleet, warnings } = await world();
    const client = await reader(fleet.service, era);
    const tools = (await client.listTools()).map(({ name }) => name);
    const shared = ['count', 'dust', 'join', 'where', 'link', 'wait'];
    expect(tools.toSorted()).toEqual(
      NAMES.flatMap((name) => [`${name}_only`, ...shared].map((tool) => `${name}__${tool}`)).toSorted(),
    );
    for (const name of NAMES) {
      expect(text((await client.callTool(`${name}__count`, { title: 'Momo' })) as never)).toBe(`${name}: 4`);
      expect(text((await client.callTool(`${name}__${name}_only`)) as never)).toBe(`${name} alone`);
      const { messages } = await client.getPrompt(`${name}__review`, { title: 'Momo' });
      expect(messages).toMatchObject([{ content: { text: `Review Momo of ${name}` } }]);
    }
    expect(await client.callTool('new__count', { title: 1 })).toMatchObject({ isError: true });
    await expect(client.callTool('nothing')).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown tool: nothing (a name begins with the name of its server: old__, new__, here__)',
    });
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(NAMES.map((name) => `${name}__review`));
    expect(warnings).toEqual([]);
  });

  test('passes on progress, log messages and cancellation', async () => {
    const logged: LogMessage[] = [];
    const { fleet } = await world();
    const client = await reader(fleet.service, era, { onlog: (message) => logged.push(message), logLevel: 'warning' });
    for (const name of NAMES) {
      const onprogress = vi.fn<(progress: unknown) => void>();
      await client.callTool(`${name}__dust`, {}, { onprogress });
      expect(onprogress.mock.calls).toEqual([[{ progress: 1, total: 2, message: name }]]);
    }
    expect(logged.map(({ logger, data }) => [logger, data])).toEqual(NAMES.map((name) => [name, 'spiders']));
    const controller = new AbortController();
    for (const name of NAMES) {
      const waiting = client.callTool(`${name}__wait`, {}, { signal: controller.signal });
      waiting.catch(() => {});
      controller.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
    }
  });

  test('asks the questions of its servers, in as many rounds as they need', async () => {
    const { fleet } = await world();
    const client = await reader(fleet.service, era, {
      onelicit: ({ message }) => ({ action: 'accept', content: { who: message.startsWith('Who') ? 'Ada' : 'Bob' } }),
      onroots: () => [{ uri: 'file:///shelves' }],
    });
    for (const name of NAMES) {
      expect(text((await client.callTool(`${name}__join`)) as never)).toBe(`${name}: [{"who":"Ada"},{"who":"Bob"}]`);
      expect(text((await client.callTool(`${name}__where`)) as never)).toBe(`${name}: [{"uri":"file:///shelves"}]`);
    }
  });

  test('reads, completes and links resources at the correct server', async () => {
    const { fleet } = await world();
    const client = await reader(fleet.service, era);
    const uris = (await client.listResources()).map(({ uri }) => uri);
    expect(uris).toEqual(
      NAMES.flatMap((name) => [`everwire+${name}:library://rules`, `everwire+${name}:${name}://own`]),
    );
    const templates = (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate);
    expect(templates).toEqual(NAMES.map((name) => `everwire+${name}:library://books/{title}`));
    for (const [index, name] of NAMES.entries()) {
      const read = async (uri: string): Promise<unknown> => (await client.readResource(uri)).contents;
      expect(await read(uris[2 * index]!)).toMatchObject([{ uri: uris[2 * index], text: `Silence in ${name}.` }]);
      expect(await read(`${name}://own`)).toMatchObject([{ uri: `${name}://own`, text: name }]);
      const book = templates[index]!.replace('{title}', 'momo');
      expect(await read(book)).toMatchObject([{ uri: book, text: `momo of ${name}` }]);
      const ref = { type: 'ref/resource', uri: templates[index]! } as const;
      expect(await client.complete(ref, { name: 'title', value: '' })).toMatchObject({ values: [`${name}'s`] });
      const { content } = await client.callTool(`${name}__link`);
      expect(content).toMatchObject([{ type: 'resource_link', uri: uris[2 * index] }]);
    }
  });

  test('sends notifications of changes with the names that it gave', async () => {
    const { fleet, servers } = await world();
    const changes: Change[] = [];
    const client = await reader(fleet.service, era, { onchange: (change) => void changes.push(change) });
    const uri = 'everwire+old:library://rules';
    const subscription = await client.subscribe(
      { resourceSubscriptions: [uri] },
      (change) => void changes.push(change),
    );
    expect(subscription.filter).toEqual({ resourceSubscriptions: [uri] });
    servers.old.resourceUpdated('library://rules');
    servers.new.resourceUpdated('library://rules');
    await vi.waitFor(() => expect(changes).toContainEqual({ type: 'resource', uri }));
    expect(changes.filter(({ type }) => type === 'resource')).toHaveLength(1);
    for (const name of ['old', 'new', 'here'] as const) {
      changes.length = 0;
      servers[name].tool('more', {}, () => 'more');
      await vi.waitFor(() => expect(changes).toContainEqual({ type: 'tools' }));
    }
    const tools = (await client.listTools({ fresh: true })).map((tool) => tool.name);
    expect(tools.filter((tool) => tool.endsWith('more'))).toEqual(['old__more', 'new__more', 'here__more']);
  });

  test('continues without a lost server, and notifies the client when it is back', async () => {
    const { fleet, servers, warnings } = await world();
    const changes: Change[] = [];
    const client = await reader(fleet.service, era, { onchange: (change) => void changes.push(change) });
    expect(await client.listTools()).toHaveLength(21);
    const members = (old: Upstream) => [
      { name: 'old', service: old.service },
      { name: 'here', service: servers.here.service },
    ];
    const old = await over(servers.old, 'legacy');
    fleet.update(members(old));
    await vi.waitFor(() => expect(changes).toContainEqual({ type: 'tools' }));
    expect(await client.listTools({ fresh: true })).toHaveLength(14);
    await old.close();
    const left = await client.listTools({ fresh: true });
    expect(left.map(({ name }) => name)).toContain('here__count');
    expect(left).toHaveLength(7);
    expect(warnings).toContainEqual(expect.stringContaining('the server "old" does not answer'));
    changes.length = 0;
    fleet.update(members(await over(servers.old, 'legacy')));
    await vi.waitFor(() => expect(changes).toContainEqual({ type: 'tools' }));
    expect(await client.listTools({ fresh: true })).toHaveLength(14);
    expect(text((await client.callTool('old__count', { title: 'x' })) as never)).toBe('old: 1');
  });
});

test('a request for a task goes to the server of the task', async () => {
  const slow = new McpServer({ name: 'slow', version: '1', onerror: unexpected });
  onTestFinished(() => slow.close(0));
  slow.tool('bake', { task: true }, async (_, context) => {
    const { content } = await context.elicit({ message: 'Sugar?', schema: z.object({ sugar: z.boolean() }) });
    return `cake ${JSON.stringify(content)}`;
  });
  const fleet = createFleet({
    members: [
      { name: 'slow', service: (await over(slow, 'modern')).service },
      { name: 'other', service: library('other').service },
    ],
  });
  onTestFinished(() => fleet.close());
  const client = await reader(fleet.service, 'modern', {
    onelicit: () => ({ action: 'accept', content: { sugar: true } }),
  });
  const statuses: string[] = [];
  const result = await client.callTool(
    'slow__bake',
    {},
    { onstatus: ({ taskId, status }) => void statuses.push(`${taskId.split(':')[0]} ${status}`) },
  );
  expect(text(result as never)).toBe('cake {"sugar":true}');
  expect(statuses.at(-1)).toBe('slow completed');
});
