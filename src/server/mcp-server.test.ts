import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { settled } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { McpServer, type McpServerOptions } from './mcp-server.ts';

const ask = (server: McpServer, method: string, params?: JsonObject) =>
  server.service(new TestExchange(method, params));
const make = (options: Partial<McpServerOptions> = {}) => new McpServer({ name: 'test', version: '1', ...options });

describe('server/discover', () => {
  const capabilities = async (server: McpServer) =>
    (await ask(server, 'server/discover'))['capabilities'] as JsonObject;

  test('returns the server’s identity', async () => {
    const server = make({
      title: 'Test',
      websiteUrl: 'https://example.com',
      instructions: 'Be kind.',
      description: undefined,
    });
    expect(await ask(server, 'server/discover')).toStrictEqual({
      supportedVersions: ['2026-07-28', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'],
      capabilities: { logging: {} },
      instructions: 'Be kind.',
      _meta: {
        'io.modelcontextprotocol/serverInfo': {
          name: 'test',
          version: '1',
          title: 'Test',
          websiteUrl: 'https://example.com',
        },
      },
    });
    expect(await ask(make(), 'server/discover')).not.toHaveProperty('instructions');
  });

  test('declares the capabilities of registered entries, also after they are removed', async () => {
    const server = make();
    const tool = server.tool('t', {}, () => 1);
    expect(await capabilities(server)).toEqual({ logging: {}, tools: { listChanged: true } });
    tool.remove();
    server.prompt('p', { arguments: { a: {} } }, () => 'x');
    server.resourceTemplate('a://{x}', { name: 'a' }, () => 'x');
    expect(await capabilities(server)).toEqual({
      logging: {},
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
    });
    server.prompt('q', { arguments: { a: { complete: ['x'] } } }, () => 'x');
    expect(await capabilities(server)).toHaveProperty('completions', {});
  });

  test('declares the given capabilities', async () => {
    const declared = { tools: { listChanged: true }, experimental: { x: {} } };
    expect(await capabilities(make({ capabilities: declared }))).toEqual({ logging: {}, ...declared });
  });
});

test('an unknown method is refused, and a notification is not answered', async () => {
  const server = make();
  await expect(ask(server, 'ping')).rejects.toMatchObject({ code: -32601, message: 'Method not found: ping' });
  await expect(ask(server, 'toString')).rejects.toMatchObject({ code: -32601 });
  expect(await ask(server, 'notifications/roots/list_changed')).toEqual({});
});

describe('pages of a list', () => {
  const names = (result: JsonObject) => result['tools'].map(({ name }: { name: string }) => name);
  const server = make({ pageSize: 2, capabilities: { prompts: {}, resources: {} } });
  for (const name of ['e', 'd', 'c', 'b', 'a']) server.tool(name, {}, () => 1);

  test('follow each other in the order of registration', async () => {
    const first = await ask(server, 'tools/list');
    const second = await ask(server, 'tools/list', { cursor: first['nextCursor'] });
    const third = await ask(server, 'tools/list', { cursor: second['nextCursor'] });
    expect([first, second, third].map(names)).toEqual([['e', 'd'], ['c', 'b'], ['a']]);
    expect(third).not.toHaveProperty('nextCursor');
    expect(first['nextCursor']).toMatch(/^[\w-]+$/);
  });

  test('have no cursor if they end with the list', async () => {
    const even = make({ pageSize: 1 });
    even.tool('only', {}, () => 1);
    expect(await ask(even, 'tools/list')).toStrictEqual({ tools: [expect.anything()] });
  });

  test('end early if the list has become shorter', async () => {
    const { nextCursor } = await ask(server, 'tools/list');
    const small = make({ pageSize: 2, capabilities: { tools: {} } });
    expect(await ask(small, 'tools/list', { cursor: nextCursor })).toEqual({ tools: [] });
  });

  test.each(['x', '', 'cGFnZTotMQ', 'cGFnZToy=', 7, null, {}])('are refused for the cursor %j', async (cursor) => {
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      await expect(ask(server, method, { cursor })).rejects.toMatchObject({ code: -32602, message: 'Invalid cursor' });
    }
  });

  test('must have a size of at least one entry', () => {
    expect(() => make({ pageSize: 0 })).toThrow(RangeError);
  });
});

test('a list that the server does not have is an unknown method', async () => {
  const server = make();
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    await expect(ask(server, method)).rejects.toMatchObject({ code: -32601 });
  }
  server.resource('a:b', { name: 'a' }, () => 'a');
  expect(await ask(server, 'resources/templates/list')).toEqual({ resourceTemplates: [] });
});

describe('registered entries', () => {
  test('can be updated and removed', async () => {
    const server = make();
    const a = server.tool('a', { description: 'old' }, () => 1);
    server.tool('b', {}, () => 1);
    a.update({ description: 'new', input: { type: 'object', required: ['x'] } });
    const { tools } = await ask(server, 'tools/list');
    expect(tools).toMatchObject([{ name: 'a', description: 'new', inputSchema: { required: ['x'] } }, { name: 'b' }]);
    expect(await ask(server, 'tools/call', { name: 'a' })).toMatchObject({ isError: true });
    a.remove();
    a.remove();
    expect((await ask(server, 'tools/list'))['tools']).toHaveLength(1);
    await expect(ask(server, 'tools/call', { name: 'a' })).rejects.toMatchObject({ code: -32602 });
    expect(() => a.update({ title: 'x' })).toThrow('Tool a has been removed');
    server.tool('a', {}, () => 2);
    a.remove();
    expect(await ask(server, 'tools/call', { name: 'a' })).toMatchObject({ content: [{ text: '2' }] });
  });

  test('are not changed by an invalid update', async () => {
    const server = make();
    const tool = server.tool('a', { description: 'old' }, () => 1);
    expect(() => tool.update({ description: 'new', input: { type: 'string' } })).toThrow(TypeError);
    tool.update({ title: 'T' });
    expect((await ask(server, 'tools/list'))['tools']).toMatchObject([{ title: 'T', description: 'old' }]);
  });

  test('are listed in a result that is built once', async () => {
    const server = make();
    server.tool('a', {}, () => 1);
    const list = await ask(server, 'tools/list');
    expect(await ask(server, 'tools/list')).toBe(list);
    expect(Object.isFrozen(list)).toBe(true);
  });
});

describe('middleware', () => {
  test('wraps the whole service, the first outermost, also if added late', async () => {
    const server = make();
    const { service } = server;
    const seen: string[] = [];
    server
      .use((next) => (exchange) => {
        seen.push(`first ${exchange.method}`);
        return next(exchange);
      })
      .use((next) => async (exchange) => {
        seen.push('second');
        return { ...(await next(exchange)), stamped: true };
      });
    expect(await service(new TestExchange('server/discover'))).toMatchObject({ capabilities: {}, stamped: true });
    expect(seen).toEqual(['first server/discover', 'second']);
  });
});

test('without onerror, only 20 errors are written to stderr in 10 seconds', async () => {
  const written = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => written.mockRestore());
  const [near, far] = memoryTransportPair();
  await new McpServer({ name: 'a', version: '1' }).connect(far);
  await near.start();
  onTestFinished(() => near.close());
  for (let id = 0; id < 1000; id += 1) await near.send({ jsonrpc: '2.0', id, result: {} });
  await settled();
  expect(written).toHaveBeenCalledTimes(20);
});
