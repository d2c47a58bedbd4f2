import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Service } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from '../server/mcp-server.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';
import { ResultCache } from './result-cache.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const fill = (cache: ResultCache, method: string, params: JsonObject, result: JsonObject): string | undefined => {
  const key = cache.keyOf(method, params);
  if (key !== undefined) cache.put(key, method, params, result, cache.generation);
  return key;
};

test('a result is cached for its ttlMs, and is returned as a copy', () => {
  const cache = new ResultCache();
  const key = fill(cache, 'tools/list', {}, { tools: [{ name: 'a' }], ttlMs: 1000 })!;
  const kept = cache.get(key)!;
  kept['tools'].push('mine');
  expect(cache.get(key)).toEqual({ tools: [{ name: 'a' }], ttlMs: 1000 });
  vi.advanceTimersByTime(999);
  expect(cache.get(key)).toBeDefined();
  vi.advanceTimersByTime(1);
  expect(cache.get(key)).toBeUndefined();
});

test('a cached result is stale if the clock was set back', () => {
  const cache = new ResultCache();
  const key = fill(cache, 'tools/list', {}, { tools: [], ttlMs: 1000 })!;
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(cache.get(key)).toBeUndefined();
});

test.each([[undefined], [0], [-5], ['1000'], [Number.NaN]])('a result with a ttlMs of %j is not cached', (ttlMs) => {
  const cache = new ResultCache();
  expect(cache.get(fill(cache, 'tools/list', {}, { ttlMs })!)).toBeUndefined();
});

test('a result is cached for one day at most', () => {
  const cache = new ResultCache();
  const key = fill(cache, 'tools/list', {}, { ttlMs: Number.MAX_SAFE_INTEGER })!;
  vi.advanceTimersByTime(86_400_000);
  expect(cache.get(key)).toBeUndefined();
});

test('a key depends on the method and its parameters, in any order', () => {
  const cache = new ResultCache();
  const key = cache.keyOf('resources/read', { uri: 'a', more: 1 });
  expect(cache.keyOf('resources/read', { more: 1, uri: 'a', _meta: { progressToken: 1 } })).toBe(key);
  expect(cache.keyOf('resources/read', { uri: 'b', more: 1 })).not.toBe(key);
  expect(cache.keyOf('tools/list', { uri: 'a', more: 1 })).not.toBe(key);
});

test.each<[string, JsonObject]>([
  ['tools/call', { name: 'a' }],
  ['resources/read', { uri: 'a', inputResponses: {} }],
  ['resources/read', { uri: 'a', requestState: 's' }],
  ['resources/read', { uri: 'a', _meta: { 'example.com/tenant': 1 } }],
])('a request %s %j is not cached', (method, params) => {
  expect(new ResultCache().keyOf(method, params)).toBeUndefined();
});

test('interim results are not cached', () => {
  const cache = new ResultCache();
  const key = fill(cache, 'resources/read', { uri: 'a' }, { resultType: 'input_required', ttlMs: 1000 })!;
  expect(cache.get(key)).toBeUndefined();
});

test('a result that was requested before a change is not cached after it', () => {
  const cache = new ResultCache();
  const { generation } = cache;
  cache.changed({ type: 'tools' });
  const key = cache.keyOf('tools/list', {})!;
  cache.put(key, 'tools/list', {}, { ttlMs: 1000 }, generation);
  expect(cache.get(key)).toBeUndefined();
});

test('a change removes only the results that it affects', () => {
  const cache = new ResultCache();
  const hint = { ttlMs: 1000 };
  const tools = fill(cache, 'tools/list', {}, hint)!;
  const lists = ['resources/list', 'resources/templates/list'].map((method) => fill(cache, method, {}, hint)!);
  const [whole, part, other] = ['file:///a', 'file:///a/b', 'file:///ab'].map((uri) =>
    fill(cache, 'resources/read', { uri }, hint),
  );
  cache.changed({ type: 'resource', uri: 'file:///a/b' });
  expect([whole, part, other].map((key) => cache.get(key!) !== undefined)).toEqual([false, false, true]);
  cache.changed({ type: 'resources' });
  expect(lists.map((key) => cache.get(key))).toEqual([undefined, undefined]);
  expect(cache.get(tools)).toBeDefined();
  cache.clear();
  expect(cache.get(tools)).toBeUndefined();
});

test('the cache has limits in number and in bytes, and drops the oldest result first', () => {
  const few = new ResultCache({ maxEntries: 2 });
  const keys = ['a', 'b', 'c'].map((uri) => fill(few, 'resources/read', { uri }, { ttlMs: 1000 })!);
  expect(keys.map((key) => few.get(key) !== undefined)).toEqual([false, true, true]);
  const small = new ResultCache({ maxSize: 50 });
  const large = fill(small, 'resources/read', { uri: 'a' }, { ttlMs: 1000, text: 'x'.repeat(60) })!;
  expect(small.get(large)).toBeUndefined();
  const sizes = ['b', 'c'].map((uri) => fill(small, 'resources/read', { uri }, { ttlMs: 1, text: 'x'.repeat(10) })!);
  expect(sizes.map((key) => small.get(key) !== undefined)).toEqual([false, true]);
});

describe('a client', () => {
  async function setUp(options: ClientOptions = {}) {
    const server = new McpServer({ name: 's', version: '1', pageSize: 1, cache: { tools: { ttlMs: 1000 } } });
    for (const name of ['a', 'b']) server.tool(name, {}, () => name);
    const methods: string[] = [];
    const counting: Service = (exchange) => {
      methods.push(`${exchange.method} ${exchange.params['cursor'] ?? ''}`.trim());
      return server.service(exchange);
    };
    const client = await connect({ service: counting }, options);
    methods.length = 0;
    return { client, server, methods };
  }

  test('requests again only what has become stale', async () => {
    const { client, methods } = await setUp();
    await client.listTools();
    expect(await client.listTools()).toHaveLength(2);
    expect(methods).toHaveLength(2);
    await client.listTools({ fresh: true });
    expect(methods).toHaveLength(4);
    vi.advanceTimersByTime(1000);
    await client.listTools();
    expect(methods).toHaveLength(6);
    client.clearCache();
    await client.listTools();
    expect(methods).toHaveLength(8);
  });

  test('requests each time if nothing may be cached', async () => {
    const { client, methods } = await setUp({ cache: false });
    await client.listTools();
    await client.listTools();
    expect(methods).toHaveLength(4);
  });

  test('requests again after a change notification', async () => {
    const onchange = vi.fn<() => void>();
    const { client, server, methods } = await setUp({ onchange });
    await client.listTools();
    methods.length = 0;
    server.tool('c', {}, () => 'c');
    await vi.waitFor(() => expect(onchange).toHaveBeenCalled());
    expect(await client.listTools()).toHaveLength(3);
    expect(methods).toHaveLength(3);
  });

  test('reads a list again from its start if the cursor of a cached page is no longer valid', async () => {
    let generation = 1;
    const service: Service = async ({ method, params: { cursor } }) => {
      if (method === 'server/discover') return { supportedVersions: [], capabilities: { tools: {} } };
      if (cursor === undefined)
        return { tools: [{ name: `first ${generation}` }], nextCursor: `to ${generation}`, ttlMs: 1000 };
      if (cursor !== `to ${generation}`) throw Object.assign(new Error('Invalid cursor'), { code: -32602 });
      return { tools: [{ name: 'last' }] };
    };
    const client = await connect({ service });
    const names = async () => (await client.listTools()).map(({ name }) => name);
    expect(await names()).toEqual(['first 1', 'last']);
    generation = 2;
    expect(await names()).toEqual(['first 2', 'last']);
  });
});
