import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../client/connect.ts';
import type { Client } from '../client/client.ts';
import type { Service } from '../core/exchange.ts';
import { McpServer } from '../server/mcp-server.ts';
import { fetchListener } from '../transport/http/server/fetch.ts';
import { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from '../transport/http/server/handler.ts';
import { memoryBus } from '../store/memory-bus.ts';
import { memoryState } from '../store/state.ts';
import { Mounts } from './bridge-mounts.ts';

function named(name: string): Service {
  const server = new McpServer({ name, version: '1' });
  server.tool('who', {}, (_, { caller }) => `${name}, asked by ${caller.principal ?? 'anyone'}`);
  return server.service;
}

/** The services, by name, behind a handler, and a client for each path. */
function mounted(services: Map<string, Service>, options: Partial<HttpHandlerOptions> = {}) {
  const onerror = (error: Error): never => {
    throw error;
  };
  const mounts = new Mounts({
    find: (name) => services.get(name),
    names: () => [...services.keys()],
    path: '/mcp',
    inbound: { onerror },
    http: { onerror },
    state: () => front.state,
  });
  const front: HttpHandler = createHttpHandler({ onsession: () => {}, pages: mounts.page, ...options });
  const answer = fetchListener(front);
  const fetch = ((input: string | URL, init?: RequestInit) =>
    answer(new Request(input, init))) as typeof globalThis.fetch;
  const client = async (path: string, eras: 'legacy' | 'modern', headers = {}): Promise<Client> => {
    const connected = await connect(`http://localhost${path}`, { fetch, eras, headers, onerror: () => {} });
    onTestFinished(() => connected.close());
    return connected;
  };
  onTestFinished(() => mounts.close(0));
  return { mounts, client, fetch };
}

const textOf = ({ content }: Awaited<ReturnType<Client['callTool']>>): unknown => content[0];

async function messageOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { message: string } }).error.message;
}

describe('servers at their own paths', () => {
  test('pass on to other processes what these must know', async () => {
    const [shared, busOf] = [memoryState(), memoryBus()];
    const processes = ['a', 'b'].map((node) => {
      const state = { ...shared, node, bus: busOf(node), isAlive: () => Promise.resolve(true) };
      return mounted(new Map([['one', named('one')]]), { state });
    });
    const [a, b] = processes as [(typeof processes)[0], (typeof processes)[0]];
    const url = 'http://localhost/servers/one/mcp';
    const opened = await a.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'client', version: '1' } },
      }),
    });
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
    expect(a.mounts.sessions).toBe(1);
    expect((await b.fetch(url, { method: 'DELETE', headers })).status).toBe(204);
    expect([a.mounts.sessions, b.mounts.sessions]).toEqual([0, 0]);
  });

  test.each(['legacy', 'modern'] as const)('are reached by their names: %s', async (eras) => {
    const { mounts, client } = mounted(new Map(['one', 'two words', 'a%2Fb'].map((name) => [name, named(name)])));
    for (const name of ['one', 'two words', 'a%2Fb']) {
      const caller = await client(`/servers/${encodeURIComponent(name)}/mcp`, eras);
      expect(textOf(await caller.callTool('who'))).toEqual({ type: 'text', text: `${name}, asked by anyone` });
    }
    expect(mounts.sessions).toBe(eras === 'legacy' ? 3 : 0);
  });

  test('are not served at any other path, and the answer says where they are', async () => {
    const services = new Map(['one', 'two words'].map((name) => [name, named(name)]));
    const { fetch } = mounted(services);
    for (const path of [
      '/servers/none/mcp',
      '/servers/one',
      '/servers//mcp',
      '/servers/one/two/mcp',
      '/servers/%zz/mcp',
    ]) {
      const response = await fetch(`http://localhost${path}`, { method: 'POST' });
      expect([response.status, await messageOf(response)]).toEqual([
        404,
        'Not found; the servers are at /servers/one/mcp, /servers/two%20words/mcp',
      ]);
    }
    for (let number = 1; number <= 20; number++) services.set(`s${number}`, named('s'));
    const many = await messageOf(await fetch('http://localhost/servers/none/mcp'));
    expect(many).toMatch(/\/servers\/s18\/mcp, and 2 more$/);
    services.clear();
    expect(await messageOf(await fetch('http://localhost/servers/none/mcp'))).toBe(
      'Not found; the bridge has no servers',
    );
  });

  test('require the authenticator and the other checks, and know the caller', async () => {
    const { client, fetch } = mounted(new Map([['one', named('one')]]), {
      allowedHosts: ['mcp.example'],
      allowedOrigins: ['https://app.example'],
      auth: {
        authenticate: (call) =>
          call.header('authorization') === 'Bearer good'
            ? { principal: 'ada', scopes: [] }
            : { status: 401, message: 'no', headers: {} },
        authorize: () => undefined,
        metadata: () => undefined,
      },
    });
    const path = '/servers/one/mcp';
    await expect(client(path, 'modern')).rejects.toThrow(/401/);
    // Who may not use the servers does not learn their names.
    const guess = await fetch('http://localhost/servers/none/mcp', { headers: { host: 'mcp.example' } });
    expect([guess.status, await messageOf(guess)]).toEqual([401, 'no']);
    const headers = { authorization: 'Bearer good', host: 'mcp.example', origin: 'https://app.example' };
    const caller = await client(path, 'legacy', headers);
    expect(textOf(await caller.callTool('who'))).toEqual({ type: 'text', text: 'one, asked by ada' });
    const evil = await fetch(`http://localhost${path}`, { headers: { origin: 'https://evil.example' } });
    expect(evil.status).toBe(403);
  });

  test('can be replaced while their sessions continue, and can be removed', async () => {
    const services = new Map([['one', named('one')]]);
    const { mounts, client, fetch } = mounted(services);
    const caller = await client('/servers/one/mcp', 'legacy');
    services.set('one', named('another'));
    expect(textOf(await caller.callTool('who'))).toEqual({ type: 'text', text: 'another, asked by anyone' });
    services.delete('one');
    expect((await fetch('http://localhost/servers/one/mcp', { method: 'POST' })).status).toBe(404);
    mounts.clear();
    expect(mounts.sessions).toBe(0);
    await expect(caller.callTool('who')).rejects.toThrow(/./);
  });

  test('are closed when their names are removed, without waiting for another request', async () => {
    const services = new Map<string, Service>();
    const { mounts, client } = mounted(services);
    for (const name of ['one', 'two', 'three']) {
      services.set(name, named(name));
      await client(`/servers/${name}/mcp`, 'legacy');
      services.delete(name);
    }
    // A new session makes room.
    expect(mounts.sessions).toBe(1);
    mounts.clear();
    expect(mounts.sessions).toBe(0);
  });

  test('continue when others are removed', async () => {
    const services = new Map([
      ['one', named('one')],
      ['two', named('two')],
    ]);
    const { mounts, client } = mounted(services);
    const going = await client('/servers/one/mcp', 'legacy');
    await client('/servers/two/mcp', 'legacy');
    services.delete('two');
    mounts.clear();
    expect(mounts.sessions).toBe(1);
    expect(textOf(await going.callTool('who'))).toEqual({ type: 'text', text: 'one, asked by anyone' });
  });

  test('accept no session after they are closed', async () => {
    const { mounts, client } = mounted(new Map([['one', named('one')]]));
    const caller = await client('/servers/one/mcp', 'modern');
    await mounts.close(1000);
    await expect(caller.callTool('who')).rejects.toThrow(/./);
    expect([mounts.sessions, mounts.streams, mounts.suspended]).toEqual([0, 0, 0]);
  });
});
