import { expect } from 'vitest';
import { eventually } from '../../support/process.ts';
import { always, lostProgress, rejection, SAME, since, textOf, toolNamed, type Cell, type Feature } from './feature.ts';

let words = 0;
/** A unique word. */
const word = (): string => `word-${++words}`;

async function spoken({ client }: Cell, level: string): Promise<unknown[]> {
  const own = word();
  const from = client.notices.length;
  await client.setLevel(level);
  expect(textOf(await client.callTool({ name: 'speak', arguments: { word: own } }))).toBe('spoken');
  const isOwn = ({ data }: Record<string, unknown>): boolean => String(data).startsWith(`${own} `);
  await client.notice('notifications/message', (params) => isOwn(params) && params['level'] === 'error', from);
  const messages = client.notices
    .slice(from)
    .filter(({ method, params }) => method.endsWith('/message') && isOwn(params!));
  return messages.map(({ params }) => params!['level']);
}

/** Features during and outside of calls, and methods that the bridge does not know. */
export const flowFeatures: readonly Feature[] = [
  {
    name: 'progress',
    arrives: since('2025-03-26', 'the numbers without the message'),
    run: async ({ client, up }, arrives) => {
      const seen: unknown[] = [];
      const before = client.errors.length;
      const onprogress = (report: unknown): void => void seen.push(report);
      expect(textOf(await client.callTool({ name: 'count' }, { onprogress }))).toBe('counted');
      const worded = arrives === SAME && up.revision >= '2025-03-26';
      const all = ['one', 'two', 'three'].map((message, index) => {
        const report = { progress: index + 1, total: 3 };
        return worded ? Object.assign(report, { message }) : report;
      });
      const lost = await lostProgress(client, before);
      expect(seen).toEqual(all.slice(0, all.length - lost));
    },
  },
  {
    name: 'cancellation',
    arrives: always,
    run: async ({ client, world }) => {
      const before = world.cancelled;
      const controller = new AbortController();
      const { signal } = controller;
      const call = rejection(
        client.callTool({ name: 'wait' }, { signal, onprogress: () => controller.abort(new Error('enough')) }),
      );
      expect((await call).message).toMatch(/enough|cancelled|abort/i);
      await eventually(() => world.cancelled === before + 1, 'the server learns that the call was cancelled');
    },
  },
  {
    name: 'log levels and messages',
    arrives: always,
    run: async (cell) => {
      expect(await spoken(cell, 'warning')).toEqual(['warning', 'error']);
      expect(await spoken(cell, 'debug')).toEqual(['debug', 'info', 'warning', 'error']);
    },
  },
  {
    name: 'list changes',
    arrives: always,
    run: async (cell) => {
      const { client } = cell;
      const name = word();
      const end = await client.followLists();
      const from = client.notices.length;
      expect(textOf(await client.callTool({ name: 'grow', arguments: { name } }))).toBe('grown');
      await client.notice('notifications/tools/list_changed', undefined, from);
      await toolNamed(cell, name);
      await end();
    },
  },
  {
    name: 'resource subscriptions',
    arrives: always,
    run: async ({ client }) => {
      const [first, second] = ['world://fixed', 'world://bytes'];
      const touch = async (uri: string): Promise<void> =>
        expect(textOf(await client.callTool({ name: 'touch', arguments: { uri } }))).toBe('touched');
      const updated = (uri: string, from: number): Promise<unknown> =>
        client.notice('notifications/resources/updated', (params) => params['uri'] === uri, from);
      let from = client.notices.length;
      const endFirst = await client.subscribe(first);
      const endSecond = await client.subscribe(second);
      await touch(first);
      await updated(first, from);
      await endFirst();
      from = client.notices.length;
      await touch(first);
      await touch(second);
      await updated(second, from);
      const uris = client.notices.slice(from).map(({ params }) => params?.['uri']);
      expect(uris.filter((uri) => uri === first)).toEqual([]);
      await endSecond();
    },
  },
  {
    name: '`x-mcp-header` parameters',
    arrives: (_, { revision }) => (revision < '2026-07-28' ? undefined : SAME),
    run: async (cell) => {
      const { client, world, up } = cell;
      expect((await toolNamed(cell, 'region'))['inputSchema']).toMatchObject({
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      });
      const args = { region: word() };
      expect(JSON.parse(textOf(await client.callTool({ name: 'region', arguments: args })))).toEqual(args);
      expect(world.regions.at(-1)).toBe(up.transport === 'http' ? args.region : undefined);
    },
  },
  {
    name: 'errors',
    arrives: always,
    run: async ({ client }) => {
      const failed = await client.callTool({ name: 'fail' });
      expect(failed).toMatchObject({ isError: true, content: [{ type: 'text', text: 'as it should' }] });
      const refused = await rejection(client.callTool({ name: 'refuse' }));
      expect(refused).toMatchObject({ code: -32050, data: { until: 'tomorrow' } });
      expect(refused.message).toContain('Not today');
      const unknown = await rejection(client.callTool({ name: 'no-such-tool' }));
      expect(unknown).toMatchObject({ code: -32602, message: expect.stringContaining('no-such-tool') });
      const uri = 'world://nowhere';
      const missing = await rejection(client.methods.readResource({ uri }));
      expect(missing.message).toContain('not found');
      expect(missing).toMatchObject({ code: client.missingResource, data: { uri } });
    },
  },
  {
    name: 'methods that nobody here knows',
    arrives: always,
    run: async ({ client }) => {
      const said = word();
      const from = client.notices.length;
      expect(await client.request('vendor/echo', { said })).toMatchObject({ echoed: said });
      await client.notice('notifications/vendor', (params) => params['said'] === said, from);
      expect(await rejection(client.request('vendor/none', {}))).toMatchObject({ code: -32601 });
    },
  },
];
