import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { derive } from '../core/derive.ts';
import type { Middleware } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { Method } from '../protocol/methods.ts';
import { McpServer } from '../server/mcp-server.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import type { Client } from './client.ts';
import { connect } from './connect.ts';
import {
  type Change,
  type ClientOptions,
  type TaskHandle,
  type LogMessage,
  type Tool,
  type ToolResult,
} from './index.ts';

interface Way {
  readonly era: 'legacy' | 'modern';
  open(server: McpServer, options: ClientOptions): Promise<Client>;
}

const overMemory = (server: McpServer) => () => {
  const [ours, theirs] = memoryTransportPair();
  void server.connect(theirs);
  return ours;
};

async function overHttp(server: McpServer, options: ClientOptions): Promise<Client> {
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close(0));
  return connect(url, options);
}

const ways: Record<string, Way> = {
  'legacy, in this process': {
    era: 'legacy',
    open: (server, options) => connect(server, { ...options, eras: 'legacy' }),
  },
  'modern, in this process': { era: 'modern', open: (server, options) => connect(server, options) },
  'modern, over memory': { era: 'modern', open: (server, options) => connect(overMemory(server), options) },
  'legacy, over HTTP': { era: 'legacy', open: (server, options) => overHttp(server, { ...options, eras: 'legacy' }) },
  'modern, over HTTP': { era: 'modern', open: overHttp },
};

function library(): McpServer {
  const server = new McpServer({ name: 'library', version: '1.0.0', instructions: 'Read.', pageSize: 2 });
  server.tool(
    'count',
    {
      input: z.object({ title: z.string() }),
      output: z.object({ copies: z.int() }),
    },
    ({ title }) => ({ copies: title.length }),
  );
  server.tool('fail', {}, () => {
    throw new RpcError(-32050, 'The shelves are being moved', { data: { until: 'noon' } });
  });
  server.tool('dust', { input: z.object({ shelves: z.int() }) }, async ({ shelves }, context) => {
    for (let shelf = 1; shelf <= shelves; shelf += 1) await context.progress(shelf, shelves, `shelf ${shelf}`);
    await context.log('debug', 'sneezed');
    await context.log('warning', 'spiders');
    return 'clean';
  });
  server.tool('join', {}, async (_, context) => {
    const { action, content } = await context.elicit({
      message: 'Who are you?',
      schema: z.object({ name: z.string(), age: z.int().min(0).default(18) }),
    });
    return `${action} ${JSON.stringify(content)}`;
  });
  server.tool('recommend', {}, async (_, context) => {
    const { content } = await context.sample({
      messages: [{ role: 'user', content: { type: 'text', text: 'A book?' } }],
      maxTokens: 10,
    });
    const roots = await context.roots();
    return JSON.stringify([content, roots]);
  });
  server.resource('library://rules', { name: 'rules' }, () => 'Silence.');
  server.resourceTemplate(
    'library://books/{title}',
    { name: 'book', complete: { title: (value) => ['momo', 'matilda'].filter((title) => title.startsWith(value)) } },
    ({ title }) => `About ${title}`,
  );
  server.prompt('review', { arguments: { title: {} } }, ({ title }) => `Review ${title}`);
  return server;
}

async function reader({ open }: Way, options: ClientOptions = {}, server = library()) {
  const client = await open(server, {
    onerror: (error) => {
      throw error;
    },
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

describe.each(Object.entries(ways))('a server (%s)', (_, way) => {
  const { era } = way;

  test('knows the server’s identity and capabilities', async () => {
    const client = await reader(way);
    expect(client.revision).toBe(era === 'legacy' ? '2025-11-25' : '2026-07-28');
    expect(client.serverInfo).toMatchObject({ name: 'library', version: '1.0.0' });
    expect(client.instructions).toBe('Read.');
    expect(client.serverCapabilities).toMatchObject({ tools: {}, resources: {}, prompts: {} });
    expect(await client.discover()).toMatchObject({ capabilities: { tools: {} } });
    await client.ping();
  });

  test('lists everything, all at once or page by page', async () => {
    const client = await reader(way);
    const names = (await client.listTools()).map(({ name }) => name);
    expect(names).toEqual(['count', 'fail', 'dust', 'join', 'recommend']);
    const seen: string[] = [];
    for await (const { name } of client.tools()) {
      seen.push(name);
      if (name === 'dust') break;
    }
    expect(seen).toEqual(['count', 'fail', 'dust']);
    expect(await client.listResources()).toMatchObject([{ uri: 'library://rules' }]);
    expect(await client.listResourceTemplates()).toMatchObject([{ uriTemplate: 'library://books/{title}' }]);
    expect(await client.listPrompts()).toMatchObject([{ name: 'review' }]);
  });

  test('handles calls, reads, prompts and completions', async () => {
    const client = await reader(way);
    await client.listTools();
    const counted = await client.callTool('count', { title: 'Momo' }, { output: z.object({ copies: z.int() }) });
    expectTypeOf(counted).toEqualTypeOf<ToolResult<{ copies: number }>>();
    expect(counted.structuredContent?.copies).toBe(4);
    expect(await client.readResource('library://books/momo')).toMatchObject({ contents: [{ text: 'About momo' }] });
    expect(await client.getPrompt('review', { title: 'Momo' })).toMatchObject({
      messages: [{ content: { text: 'Review Momo' } }],
    });
    const ref = { type: 'ref/resource', uri: 'library://books/{title}' } as const;
    expect(await client.complete(ref, { name: 'title', value: 'm' })).toMatchObject({ values: ['momo', 'matilda'] });
  });

  test('throws the server’s errors unchanged, and returns tool errors as results', async () => {
    const client = await reader(way);
    await expect(client.callTool('fail')).rejects.toMatchObject({
      name: 'RpcError',
      code: -32050,
      message: 'The shelves are being moved',
      data: { until: 'noon' },
    });
    expect(await client.callTool('count', { title: 1 })).toMatchObject({ isError: true });
    await expect(client.request('no/such')).rejects.toMatchObject({ code: -32601 });
  });

  test('receives progress and the requested log messages', async () => {
    const logged: LogMessage[] = [];
    const client = await reader(way, { onlog: (message) => logged.push(message), logLevel: 'warning' });
    const onprogress = vi.fn<(progress: unknown) => void>();
    await client.callTool('dust', { shelves: 2 }, { onprogress });
    expect(onprogress.mock.calls.map(([progress]) => progress)).toEqual([
      { progress: 1, total: 2, message: 'shelf 1' },
      { progress: 2, total: 2, message: 'shelf 2' },
    ]);
    expect(logged).toMatchObject([{ level: 'warning', data: 'spiders' }]);
    await client.setLogLevel('debug');
    await client.callTool('dust', { shelves: 0 });
    expect(logged.slice(1)).toMatchObject([{ data: 'sneezed' }, { data: 'spiders' }]);
  });

  test('answers questions with its handlers', async () => {
    const client = await reader(way, {
      onelicit: ({ message }) => ({ action: 'accept', content: { name: message === 'Who are you?' ? 'Ada' : '?' } }),
      onsample: ({ maxTokens }) => ({
        role: 'assistant',
        model: 'small',
        content: { type: 'text', text: `${maxTokens} tokens` },
      }),
      onroots: () => [{ uri: 'file:///shelves' }],
    });
    expect(await client.callTool('join')).toMatchObject({ content: [{ text: 'accept {"name":"Ada","age":18}' }] });
    expect(await client.callTool('recommend')).toMatchObject({
      content: [{ text: '[{"type":"text","text":"10 tokens"},[{"uri":"file:///shelves"}]]' }],
    });
  });

  test('gets an error if there is no handler, or the answer is invalid', async () => {
    const onerror = vi.fn<(error: Error) => void>();
    const none = await reader(way, { onerror });
    await expect(none.callTool('join')).rejects.toMatchObject({ code: era === 'legacy' ? -32601 : -32021 });
    onerror.mockClear();
    const wrong = await reader(way, { onerror, onelicit: () => ({ action: 'accept', content: { name: 7 } }) });
    const result = await wrong.callTool('join').catch((error: unknown) => error);
    expect(JSON.stringify([result, (result as Error).message])).toContain('could not answer elicitation/create');
    expect(onerror.mock.calls[0]?.[0].cause).toMatchObject({ message: 'name: must be string' });
  });

  test('sends notifications of changes', async () => {
    const server = library();
    const lists: Change[] = [];
    const client = await reader(way, { onchange: (change) => lists.push(change) }, server);
    const updates: Change[] = [];
    const subscription = await client.subscribe('library://rules', (change) => updates.push(change));
    expect(subscription.filter).toEqual({ resourceSubscriptions: ['library://rules'] });
    server.resourceUpdated('library://rules');
    await vi.waitFor(() => expect(updates).toEqual([{ type: 'resource', uri: 'library://rules' }]));
    server.tool('new', {}, () => 'new');
    await vi.waitFor(() => expect(lists).toEqual([{ type: 'tools' }]));
    await subscription.close();
    expect(await subscription.closed).toBeUndefined();
    server.resourceUpdated('library://rules');
    server.prompt('another', {}, () => 'x');
    await vi.waitFor(() => expect(lists).toContainEqual({ type: 'prompts' }));
    expect(updates).toHaveLength(1);
  });

  test('gets requests through middleware', async () => {
    const methods: string[] = [];
    const client = await reader(way, {
      middleware: [
        (next) => (exchange) => {
          methods.push(exchange.method);
          return next(exchange);
        },
      ],
    });
    const rename: Middleware = (next) => (exchange) =>
      next(
        exchange.method === Method.GetPrompt
          ? derive(exchange, { params: { ...exchange.params, name: 'review' } })
          : exchange,
      );
    client.use(rename);
    await client.getPrompt('alias', { title: 'Momo' });
    expect(methods).toContain('prompts/get');
  });

  test('gets notifications of changed roots, if the revision has them', async () => {
    const server = library();
    const methodsReceived: string[] = [];
    server.use((next) => (exchange) => {
      methodsReceived.push(exchange.method);
      return next(exchange);
    });
    const client = await reader(way, { onroots: () => [] }, server);
    await client.rootsChanged();
    await client.ping();
    const expected = era === 'legacy' ? ['notifications/roots/list_changed'] : [];
    await vi.waitFor(() => expect(methodsReceived.filter((method) => method.includes('roots'))).toEqual(expected));
    await expect(client.notify('custom')).rejects.toThrow(TypeError);
  });
});

test('an invalid target is a TypeError', async () => {
  await expect(connect({} as never)).rejects.toThrow(TypeError);
  await expect(connect(undefined as never)).rejects.toThrow(TypeError);
});

test('results are typed', async () => {
  const client = await reader(ways['modern, in this process']!);
  expectTypeOf(await client.listTools()).toEqualTypeOf<Tool[]>();
  expectTypeOf(await client.callTool('count', { title: '' })).toEqualTypeOf<ToolResult>();
  const { task } = await client.callTool('count', { title: '' }, { detach: true });
  expectTypeOf(task).toEqualTypeOf<TaskHandle | undefined>();
  expect(task).toBeUndefined();
});

/** A server whose list of tools never ends. Each page takes the given number of milliseconds. */
async function endless(pageOf: () => unknown[], takes: number): Promise<Client> {
  let page = 0;
  const answer: Middleware = (next) => async (exchange) => {
    if (exchange.method !== Method.ListTools) return next(exchange);
    if (takes > 0) await new Promise((resolve) => setTimeout(resolve, takes));
    return { resultType: 'complete', tools: pageOf(), nextCursor: `${(page += 1)}` };
  };
  const client = await connect(new McpServer({ name: 'endless', version: '1.0.0' }), { middleware: [answer] });
  onTestFinished(() => client.close());
  return client;
}

test('maxTimeout limits all pages of a list together', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const client = await endless(() => [], 300);
  const listed = client.listTools({ maxTimeout: 1000 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1001);
  expect(await listed).toMatchObject({ name: 'TimeoutError' });
});

test('a list with too many entries fails', async () => {
  const page = Array.from({ length: 30_000 }, (_, index) => ({ name: `t${index}`, inputSchema: { type: 'object' } }));
  const client = await endless(() => page, 0);
  await expect(client.listTools()).rejects.toThrow('more than 100000 entries');
});
