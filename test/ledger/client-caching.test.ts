import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ClientOptions } from '../../src/client/options.ts';
import { connect } from '../../src/client/connect.ts';
import type { Service } from '../../src/core/exchange.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import { MODERN } from '../support/modern.ts';

const SERVER = 'http://localhost/mcp';

describe('caching over time', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A client of a list with two pages, which are fresh for the given times. */
  async function paged(ttls: readonly [number, number], options: ClientOptions = {}) {
    const asked: unknown[] = [];
    const service: Service = async ({ method, params }): Promise<JsonObject> => {
      if (method === 'server/discover') return { supportedVersions: [MODERN], capabilities: { tools: {} } };
      const { cursor } = params;
      asked.push(cursor);
      return cursor === undefined
        ? { tools: [{ name: 'a' }], nextCursor: 'b', ttlMs: ttls[0] }
        : { tools: [{ name: 'b' }], ttlMs: ttls[1] };
    };
    const client = await connect({ service }, options);
    onTestFinished(() => client.close());
    return { client, asked };
  }

  test('nothing is requested only because a cached result is stale', async () => {
    const { client, asked } = await paged([1000, 1000], { onchange: () => {} });
    await client.listTools();
    expect(asked).toEqual([undefined, 'b']);
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(asked).toHaveLength(2);
  });

  test('a stale page is requested with its cursor, and the fresh page before it is not', async () => {
    const { client, asked } = await paged([10_000, 1000]);
    await client.listTools();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await client.listTools()).toHaveLength(2);
    expect(asked).toEqual([undefined, 'b', 'b']);
  });

  test('a consistent list is requested completely, from its start', async () => {
    const { client, asked } = await paged([10_000, 10_000]);
    await client.listTools();
    await client.listTools({ fresh: true });
    expect(asked).toEqual([undefined, 'b', undefined, 'b']);
  });
});

describe('cached results', () => {
  /** A server whose list is different for each token, and may be cached. */
  function personal() {
    const lists: (string | undefined)[] = [];
    const server = new McpServer({ name: 's', version: '1', cache: { tools: { ttlMs: 60_000 } } });
    server.tool('t', {}, () => '');
    const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init);
      if (request.headers.get('mcp-method') === 'tools/list') lists.push(request.headers.get('authorization') ?? '');
      return server.fetch(request);
    };
    return { lists, fetch };
  }

  test('are requested again with another credential', async () => {
    const { lists, fetch } = personal();
    let token = 'ada';
    let proof = 0;
    const client = await connect(SERVER, {
      fetch,
      authorizer: {
        headers: async () => ({ authorization: `Bearer ${token}`, dpop: `${(proof += 1)}` }),
        refused: async () => false,
      },
    });
    onTestFinished(() => client.close());
    await client.listTools();
    await client.ping();
    await client.listTools();
    expect(lists).toEqual(['Bearer ada']);
    token = 'bob';
    await client.ping();
    await client.listTools();
    await client.listTools();
    expect(lists).toEqual(['Bearer ada', 'Bearer bob']);
  });

  test('are requested again if the credential changes in the meantime', async () => {
    const { lists, fetch } = personal();
    const tokens = ['ada'];
    const refusing = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init);
      const good = request.headers.get('authorization') === `Bearer ${tokens.at(-1)}`;
      return good ? fetch(request) : new Response(null, { status: 401 });
    };
    let current = 'ada';
    const client = await connect(SERVER, {
      fetch: refusing,
      authorizer: {
        headers: async () => ({ authorization: `Bearer ${current}` }),
        refused: async () => ((current = tokens.at(-1)!), true),
      },
    });
    onTestFinished(() => client.close());
    await client.listTools();
    tokens.push('bob');
    // The list was cached. This shows that the cache now belongs to another token.
    await client.ping();
    await client.listTools();
    expect(lists).toEqual(['Bearer ada', 'Bearer bob']);
  });

  test('of one client are not given to another', async () => {
    const { lists, fetch } = personal();
    for (const token of ['ada', 'bob']) {
      const client = await connect(SERVER, { fetch, headers: { authorization: `Bearer ${token}` } });
      onTestFinished(() => client.close());
      await client.listTools();
      await client.listTools();
    }
    expect(lists).toEqual(['Bearer ada', 'Bearer bob']);
  });
});
