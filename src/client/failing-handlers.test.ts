import { expect, onTestFinished, test, vi } from 'vitest';
import { McpServer } from '../server/mcp-server.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';

const FAILING = {
  throws: () => {
    throw new Error('thrown by a handler');
  },
  rejects: () => Promise.reject(new Error('thrown by a handler')),
  'rejects with null': () => Promise.reject(JSON.parse('null') as Error),
};
const HOW = Object.keys(FAILING) as (keyof typeof FAILING)[];
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

/** A client whose errors are collected. Each of them must be an `Error`. */
async function connected(options: ClientOptions) {
  const server = new McpServer({ name: 'server', version: '1.0.0' });
  server.tool('work', { task: true }, async (_, ctx) => {
    await ctx.progress(1);
    await ctx.log('error', 'a message');
    return 'done';
  });
  server.resource('notes://today', { name: 'today' }, () => 'text');
  const errors: unknown[] = [];
  const client = await connect(server, { ...options, onerror: (error) => errors.push(error) });
  onTestFinished(() => client.close());
  const reported = (): Promise<void> => vi.waitFor(() => expect(errors).toContainEqual(expect.any(Error)));
  return { server, client, reported, errors };
}

const done = { content: [{ text: 'done' }] };

for (const revision of REVISIONS) {
  test.each(HOW)(`onprogress that %s goes to onerror, and the call goes on (${revision})`, async (how) => {
    const { client, reported } = await connected({ revision, tasks: false });
    expect(await client.callTool('work', {}, { onprogress: FAILING[how] })).toMatchObject(done);
    await reported();
  });

  test.each(HOW)(`onlog that %s goes to onerror, and the call goes on (${revision})`, async (how) => {
    const { client, reported } = await connected({ revision, tasks: false, onlog: FAILING[how] });
    expect(await client.callTool('work')).toMatchObject(done);
    await reported();
  });

  test.each(HOW)(`onchange that %s goes to onerror (${revision})`, async (how) => {
    const { server, client, reported } = await connected({ revision, onchange: FAILING[how] });
    server.tool('another', {}, () => 'text');
    await reported();
    expect(await client.listTools()).toHaveLength(2);
  });

  test.each(HOW)(`the handler of a subscription that %s goes to onerror (${revision})`, async (how) => {
    const { server, client, reported } = await connected({ revision });
    await client.subscribe('notes://today', FAILING[how]);
    server.resourceUpdated('notes://today');
    await reported();
  });
}

test.each(HOW)('onstatus that %s goes to onerror, and the task is awaited', async (how) => {
  const { client, reported } = await connected({ revision: '2026-07-28' });
  expect(await client.callTool('work', {}, { onstatus: FAILING[how] })).toMatchObject(done);
  await reported();
});

test.each(HOW)('onlost that %s goes to onerror, and the next call connects again', async (how) => {
  const servers = [1, 2].map((count) => {
    const server = new McpServer({ name: 'server', version: '1.0.0' });
    server.tool('count', {}, () => `${count}`);
    return server;
  });
  const errors: unknown[] = [];
  let next = 0;

  const client = await connect(
    () => {
      const [end, other] = memoryTransportPair();
      void servers[next++]!.connect(other);
      return end;
    },
    { onlost: FAILING[how], onerror: (error) => errors.push(error) },
  );
  onTestFinished(() => client.close());
  await servers[0]!.close(0);
  await vi.waitFor(() => expect(errors).toEqual([expect.any(Error)]));
  expect(await client.callTool('count')).toMatchObject({ content: [{ text: '2' }] });
});
