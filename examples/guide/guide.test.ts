import { readdirSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { testClient, type TestClientOptions } from 'everwire/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { root, startServer } from '../../test/support/process.ts';
import { eras, reader, textOf } from '../../test/support/reader.ts';
import { filesShownIn } from '../../test/support/shown.ts';
import { server as cached } from './caching.ts';
import * as changes from './changes.ts';
import { log, server as timed } from './middleware.ts';
import { server as dusting } from './progress.ts';
import { createLibrary } from './once.ts';
import { server as prompts } from './prompts.ts';
import { server as asking } from './questions.ts';
import { pinUp, server as resources } from './resources.ts';
import { server as rounds } from './rounds.ts';
import { server as stateful } from './state.ts';
import { server as schemas } from './schemas.ts';
import { server as tools } from './tools.ts';

describe('the guide', () => {
  const files = filesShownIn('docs/guide.md');

  test('shows every file here, once', () => {
    const here = readdirSync(new URL('.', import.meta.url)).filter((name) => !name.endsWith('.test.ts'));
    expect(files.map(({ file }) => file).toSorted((a, b) => a.localeCompare(b))).toEqual(
      here.map((name) => `examples/guide/${name}`).toSorted((a, b) => a.localeCompare(b)),
    );
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

const call = (client: Client, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: args });

describe.each(eras)('with %s', (era) => {
  test('tools answer with text, blocks and structured content', async () => {
    const client = await reader(tools.fetch, { era });
    const found = await call(client, 'search', { title: 'Story' });
    expect(found.structuredContent).toEqual({
      books: [{ title: 'The Neverending Story', author: 'Michael Ende', year: 1979 }],
    });
    const { content } = await call(client, 'cover', { title: 'Momo' });
    expect(content).toMatchObject([{ text: 'Momo, Michael Ende' }, { type: 'image', mimeType: 'image/svg+xml' }]);
  });

  test('a UserError is a result, and an RpcError is a protocol error', async () => {
    const client = await reader(tools.fetch, { era });
    const unknown = await call(client, 'cover', { title: 'Mono' });
    expect(unknown.isError).toBe(true);
    expect(textOf(unknown)).toContain('no book called Mono');
    expect(textOf(await call(client, 'search', { title: 'M' }))).toContain('title');
    await expect(call(client, 'inventory')).rejects.toMatchObject({ code: -32000, data: { until: '2030-01-01' } });
  });

  test('four kinds of schemas are listed and validated in the same way', async () => {
    const client = await reader(schemas.fetch, { era });
    const listed = await client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(['zod', 'valibot', 'arktype', 'plain']);
    for (const { name, inputSchema } of listed.tools) {
      expect(inputSchema.properties?.['days']).toMatchObject({ maximum: 60 });
      expect(textOf(await call(client, name, { days: 14 }))).toBe('14 days');
      expect((await call(client, name, { days: 61 })).isError).toBe(true);
    }
  });

  test('resources are listed, read and completed', async () => {
    const client = await reader(resources.fetch, { era });
    const { resources: listed } = await client.listResources();
    expect(listed.map(({ uri }) => uri)).toContain('library://books/momo');
    expect(await client.readResource({ uri: 'library://books/momo' })).toMatchObject({
      contents: [{ mimeType: 'text/plain', text: 'It was a very big city.' }],
    });
    await expect(client.readResource({ uri: 'library://books/none' })).rejects.toThrow('not found');
    const ref = { type: 'ref/resource', uri: 'library://books/{id}' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'id', value: 'jim' } });
    expect(completion.values).toEqual(['jim-button']);
  });

  test('prompts are filled in, and completers see the resolved arguments', async () => {
    const client = await reader(prompts.fetch, { era });
    const { messages } = await client.getPrompt({ name: 'recommend', arguments: { genre: 'crime' } });
    expect(messages).toMatchObject([{ content: { text: 'Recommend me a crime novel.' } }]);
    const longer = await client.getPrompt({ name: 'recommend', arguments: { genre: 'crime', author: 'Sayers' } });
    expect(longer.messages).toHaveLength(2);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'recommend' },
      argument: { name: 'author', value: '' },
      context: { arguments: { genre: 'fantasy' } },
    });
    expect(completion.values).toEqual(['Ende', 'Tolkien']);
  });

  test('questions reach a client that supports them', async () => {
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
    const client = await reader(asking.fetch, { era, capabilities });
    client.setRequestHandler('elicitation/create', ({ params }) =>
      params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } },
    );
    client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant',
      model: 'test',
      content: { type: 'text', text: 'Superb.' },
    }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///shelves' }] }));
    expect(textOf(await call(client, 'lend', { title: 'Momo' }))).toBe('Lent to Ada for 14 days.');
    expect(textOf(await call(client, 'pay'))).toBe('The page is open.');
    expect(textOf(await call(client, 'blurb', { title: 'Momo' }))).toBe('Superb.');
    expect(textOf(await call(client, 'shelves'))).toBe('file:///shelves');
  });

  test('a client that supports no questions gets an error', async () => {
    const client = await reader(asking.fetch, { era });
    expect(textOf(await call(client, 'lend', { title: 'Momo' }))).toContain('cannot show forms');
    await expect(call(client, 'shelves')).rejects.toThrow(/roots/);
  });

  test('a handler may return its questions as its result', async () => {
    const client = await reader(rounds.fetch, { era, capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'North' } }));
    expect(textOf(await call(client, 'reserve', { title: 'Momo' }))).toBe('Momo, shelf M, waits in North.');
  });

  test('progress notifications are sent', async () => {
    const client = await reader(dusting.fetch, { era });
    const told: unknown[] = [];
    const result = await client.callTool(
      { name: 'dust', arguments: { shelves: ['A', 'B'] } },
      { onprogress: (progress) => void told.push(progress) },
    );
    expect(textOf(result)).toBe('All clean.');
    expect(told).toEqual([
      { progress: 1, total: 2, message: 'Shelf A' },
      { progress: 2, total: 2, message: 'Shelf B' },
    ]);
  });

  test('a cancelled handler stops', async () => {
    const client = await reader(dusting.fetch, { era });
    const started = vi.fn<() => void>();
    const stopped = vi.fn<() => void>();
    dusting.use((next) => (exchange) => {
      if (exchange.method !== 'tools/call') return next(exchange);
      started();
      return next(exchange).finally(stopped);
    });
    const abort = new AbortController();
    const dusted = client.callTool(
      { name: 'dust', arguments: { shelves: ['A', 'B'], pause: 60_000 } },
      { signal: abort.signal },
    );
    await vi.waitFor(() => expect(started).toHaveBeenCalled());
    expect(stopped).not.toHaveBeenCalled();
    abort.abort();
    await expect(dusted).rejects.toThrow(/abort/i);
    await vi.waitFor(() => expect(stopped).toHaveBeenCalled());
  });

  test('entries are enabled and disabled while the server runs', async () => {
    const client = await reader(changes.server.fetch, { era });
    const names = async () => (await client.listTools()).tools.map(({ name, description }) => [name, description]);
    expect(await names()).toEqual([]);
    changes.open();
    expect(await names()).toEqual([['ring', 'Rings for the librarian']]);
    expect(textOf(await call(client, 'ring'))).toBe('Coming!');
    changes.close();
    await expect(call(client, 'ring')).rejects.toThrow('Unknown tool');
  });

  test('middleware sees every exchange', async () => {
    const client = await reader(timed.fetch, { era });
    log.length = 0;
    await call(client, 'opening_hours');
    expect(log.find(({ method }) => method === 'tools/call')).toMatchObject({ client: 'reader' });
  });
});

test('an entry can be updated and removed', async () => {
  const client = await reader(changes.server.fetch);
  changes.open();
  changes.renovate();
  expect((await client.listTools()).tools).toMatchObject([{ description: 'Rings for the foreman' }]);
  changes.tearDown();
  expect((await client.listTools()).tools).toEqual([]);
});

test('a subscriber is notified of an update', async () => {
  const client = await reader(resources.fetch);
  const updated = vi.fn<(uri: string) => void>();
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => updated(params.uri));
  await client.subscribeResource({ uri: 'library://notices' });
  pinUp('Open on Monday.');
  await vi.waitFor(() => expect(updated).toHaveBeenCalledWith('library://notices'));
  expect(await client.readResource({ uri: 'library://notices' })).toMatchObject({
    contents: [{ text: 'Closed on Sunday.\nOpen on Monday.' }],
  });
});

test('clients of 2026-07-28 receive cache hints', async () => {
  const client = await reader(cached.fetch, { era: '2026-07-28' });
  expect(await client.listTools()).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' });
  expect(await client.readResource({ uri: 'library://rules' })).toMatchObject({ ttlMs: 86_400_000 });
  expect(await client.readResource({ uri: 'library://loans' })).toMatchObject({ ttlMs: 5_000 });
});

describe('as a process', () => {
  const start = async (name: string) => {
    const process = await startServer([`${root}dist/examples/guide/${name}.js`], {
      PORT: '0',
    });
    onTestFinished(async () => void (await process.stop()));
    return process;
  };

  test('the first example listens', async () => {
    const { url } = await start('first');
    const client = await reader(undefined, { era: '2026-07-28', url });
    expect(textOf(await call(client, 'opening_hours'))).toContain('9 to 17');
  });

  test('the stdio example answers on stdout', async () => {
    const client = new Client({ name: 'reader', version: '1.0.0' });
    const args = [`${root}dist/examples/guide/stdio.js`];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    onTestFinished(() => client.close());
    expect(textOf(await call(client, 'opening_hours'))).toContain('9 to 17');
  });
});

test('a step in `once` is not repeated by another process', async () => {
  const processes = [createLibrary('k'.repeat(32)), createLibrary('k'.repeat(32))];
  let requests = 0;
  const balanced = (request: Request) => processes[requests++ % processes.length]!.fetch(request);
  const client = await reader(balanced, { era: '2026-07-28', capabilities: { elicitation: { form: {} } } });
  const asked = vi.fn<() => { action: 'accept'; content: { wrap: boolean } }>(() => ({
    action: 'accept',
    content: { wrap: true },
  }));
  client.setRequestHandler('elicitation/create', asked);
  expect(textOf(await call(client, 'order', { title: 'Momo' }))).toBe('Order 1 of 1, wrapped');
  expect(asked).toHaveBeenCalledTimes(1);
});

test('state belongs to one user, or to one session', async () => {
  const open = async (options: TestClientOptions) => {
    const client = await testClient(stateful, options);
    onTestFinished(() => client.close());
    return async (name: string) => {
      const { content } = await client.callTool(name);
      return (content[0] as { text: string }).text;
    };
  };
  const ada = await open({ principal: 'ada', revision: '2025-11-25' });
  const bob = await open({ principal: 'bob', revision: '2025-11-25' });
  const modern = await open({ principal: 'ada', revision: '2026-07-28' });
  expect(await ada('borrow_momo')).toBe('You have 1 books.');
  expect(await bob('borrow_momo')).toBe('You have 1 books.');
  expect([await ada('visits'), await ada('visits'), await bob('visits'), await modern('visits')]).toEqual([
    'You came 1 times in this session.',
    'You came 2 times in this session.',
    'You came 1 times in this session.',
    'This client has no session.',
  ]);
  expect(await (await open({}))('borrow_momo')).toBe('Log in first.');
});
