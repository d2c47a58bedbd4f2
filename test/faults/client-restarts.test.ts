import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect, type Client, type ClientOptions } from 'everwire/client';
import { McpServer } from 'everwire/server';
import { place, welcome } from '../support/legacy-server.ts';
import { OAuthWorld, SERVER } from '../support/oauth-world.ts';
import { root } from '../support/process.ts';
import { deferred } from '../support/service.ts';

/** Servers that are replaced by the same or another server, and many calls that get the same event at once. */

type Eras = 'legacy' | 'modern' | 'both';

/** A URL at which one server replaces another. */
async function address() {
  const runs = vi.fn<(text: string) => void>();
  let current: McpServer;
  const start = (eras: Eras): void => {
    current = new McpServer({ name: eras, version: '1.0.0', eras, onerror: () => {} });
    current.tool('era', {}, () => {
      runs(eras);
      return eras;
    });
    current.resource('era:now', { name: 'era' }, () => eras);
  };
  const http: Server = createServer((request, response) => {
    current.node(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, start, runs, server: () => current };
}

async function clientOf(target: Parameters<typeof connect>[0], options: ClientOptions = {}): Promise<Client> {
  const client = await connect(target, { cache: false, timeout: 5000, onerror: () => {}, ...options });
  onTestFinished(() => client.close());
  return client;
}

const textOf = async (client: Client, tool: string): Promise<unknown> => {
  const { content } = await client.callTool(tool);
  return (content[0] as { text: string }).text;
};

describe('a session lost during a call', () => {
  test('is replaced by another, and each call runs once', async () => {
    const { url, start, runs } = await address();
    start('legacy');
    const client = await clientOf(url);
    await textOf(client, 'era');
    for (let restart = 0; restart < 3; restart += 1) {
      start('legacy');
      runs.mockClear();
      expect(await Promise.all(Array.from({ length: 10 }, () => textOf(client, 'era')))).toEqual(
        Array.from({ length: 10 }, () => 'legacy'),
      );
      expect(runs).toHaveBeenCalledTimes(10);
    }
    expect(client.closed).toBe(false);
  });
});

/** The error of a call if the server now speaks another era. */
const CHANGED = {
  name: 'ConnectionError',
  notExecuted: true,
  message: expect.stringMatching(
    /^tools\/call failed: the server now seems to speak another revision than 20.* did not run/,
  ),
};

describe('a server that speaks another era after a restart', () => {
  test.each<[Eras, Eras]>([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
    ['both', 'legacy'],
  ])('over HTTP, %s and then %s, fails one call, which says so, and answers the next', async (before, after) => {
    const { url, start, runs } = await address();
    start(before);
    const client = await clientOf(url);
    expect(await textOf(client, 'era')).toBe(before);
    start(after);
    await expect(client.callTool('era')).rejects.toMatchObject(CHANGED);
    expect(await textOf(client, 'era')).toBe(after);
    expect(runs.mock.calls).toEqual([[before], [after]]);
  });

  test('over HTTP, legacy and then both, fails no call: only the session is lost', async () => {
    const { url, start, runs } = await address();
    start('legacy');
    const client = await clientOf(url);
    expect(await textOf(client, 'era')).toBe('legacy');
    start('both');
    expect(await textOf(client, 'era')).toBe('both');
    expect(runs.mock.calls).toEqual([['legacy'], ['both']]);
  });

  test('over HTTP also fails calls that only read', async () => {
    const { url, start } = await address();
    start('modern');
    const client = await clientOf(url);
    start('legacy');
    await expect(client.readResource('era:now')).rejects.toThrow(
      'resources/read failed: the server now seems to speak',
    );
    expect((await client.readResource('era:now')).contents[0]).toMatchObject({ text: 'legacy' });
  });

  test.each<[Eras, Eras]>([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ])('over HTTP, %s and then %s, fails all simultaneous calls, and none of them runs', async (...eras) => {
    const [before, after] = eras;
    const { url, start, runs } = await address();
    start(before);
    const client = await clientOf(url);
    const fifty = () => Array.from({ length: 50 }, () => textOf(client, 'era'));
    expect(await textOf(client, 'era')).toBe(before);
    runs.mockClear();
    start(after);
    for (const { reason } of (await Promise.allSettled(fifty())) as PromiseRejectedResult[])
      expect(reason).toMatchObject(CHANGED);
    expect(runs).not.toHaveBeenCalled();
    expect(new Set(await Promise.all(fifty()))).toEqual(new Set([after]));
    expect(runs).toHaveBeenCalledTimes(50);
  });

  test.each<[Eras, Eras]>([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ])('over HTTP, %s and then %s, sends notifications again without a call', async (before, after) => {
    const { url, start, server } = await address();
    start(before);
    const heard = vi.fn<() => void>();
    const client = await clientOf(url);
    await client.subscribe('era:now', heard);
    await server().close();
    start(after);
    // The client reports that it may have missed changes.
    await vi.waitUntil(() => heard.mock.calls.length === 1, 10_000);
    server().resourceUpdated('era:now');
    await vi.waitUntil(() => heard.mock.calls.length === 2);
  });

  test.each<[Eras, Eras]>([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ])('over stdio, %s and then %s, is called in the new era, and started once each time', async (before, after) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-changing-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [file, log] = [path.join(folder, 'era'), path.join(folder, 'log')];
    const starts = (): string[] => readFileSync(log, 'utf8').trim().split('\n');
    writeFileSync(file, before);
    const client = await clientOf({
      command: process.execPath,
      args: [`${root}test/fixtures/changing.mjs`, file, log],
    });
    expect(await textOf(client, 'era')).toBe(before);
    expect(starts()).toEqual([before]);
    writeFileSync(file, after);
    await expect(client.callTool('end')).rejects.toMatchObject({
      name: 'ConnectionError',
      notExecuted: false,
      message: expect.stringContaining('code 7'),
    });
    expect(await textOf(client, 'era')).toBe(after);
    expect(starts()).toEqual([before, after]);
  });
});

test.each(['modern', 'legacy'] as const)(
  'simultaneous calls to a server that requires a login cause one login (%s)',
  async (eras) => {
    const oauth = new OAuthWorld();
    const asked = deferred();
    const server = new McpServer({ name: 'guarded', version: '1.0.0' });
    const runs = vi.fn<() => void>();
    server.tool('open', {}, () => (runs(), 'opened'));
    let guarded = false;
    let refused = 0;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      if (guarded && request.method === 'POST' && !request.headers.has('authorization')) {
        refused += 1;
        if (refused === 5) asked.resolve();
        // All are refused before the first of them requests a token.
        await asked.promise;
        return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
      }
      return server.fetch(new Request('http://localhost/mcp', request));
    };
    const client = await clientOf(SERVER, { fetch, eras, authorizer: oauth.authorizer() });
    await client.callTool('open');
    runs.mockClear();
    guarded = true;
    const opened = await Promise.all(Array.from({ length: 5 }, () => textOf(client, 'open')));
    expect(opened).toEqual(['opened', 'opened', 'opened', 'opened', 'opened']);
    expect(oauth.loginUrls).toHaveLength(1);
    expect(oauth.tokenRequests).toHaveLength(1);
    expect(runs).toHaveBeenCalledTimes(5);
  },
);

test('messages of a server arrive in its new session even if the former one had none', async () => {
  const { open, servers } = place();
  const heard = vi.fn<(method: string) => void>();
  const connecting = clientOf(open, { onnotification: heard });
  const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
  await vi.waitUntil(() => servers.length === 1);
  expect(await servers[0]!.answer(discovered)).toMatchObject({ method: 'server/discover' });
  const client = await connecting;
  await servers[0]!.transport.close();
  const call = client.callTool('any');
  await vi.waitUntil(() => servers.length === 2);
  const probe = await servers[1]!.heard();
  await servers[1]!.send({ id: probe.id, error: { code: -32601, message: 'Method not found' } });
  expect(await servers[1]!.answer(welcome({ tools: {} }))).toMatchObject({ method: 'initialize' });
  expect(await servers[1]!.heard()).toMatchObject({ method: 'notifications/initialized' });
  expect(await servers[1]!.answer({ content: [] })).toMatchObject({ method: 'tools/call' });
  expect(await call).toEqual({ content: [] });
  await servers[1]!.send({ method: 'notifications/said', params: {} });
  await vi.waitUntil(() => heard.mock.calls.length > 0);
  expect(heard).toHaveBeenCalledExactlyOnceWith('notifications/said', {});
});

test('a command that is slow to answer the probe is started only once', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-once-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, log] = [path.join(folder, 'era'), path.join(folder, 'log')];
  writeFileSync(file, 'legacy');
  const client = await clientOf(
    { command: process.execPath, args: [`${root}test/fixtures/changing.mjs`, file, log] },
    { probeTimeout: 1 },
  );
  expect(await Promise.all(Array.from({ length: 5 }, () => textOf(client, 'era')))).toHaveLength(5);
  expect(readFileSync(log, 'utf8')).toBe('legacy\n');
});
