import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcp, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { McpServer } from 'everwire/server';
import { RawClient } from '../interop/raw-client.ts';
import { ABLE, modernHeaders, modernRequest } from '../support/modern.ts';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  root,
  startServer,
  type RunningServer,
} from '../support/process.ts';

type Json = Record<string, any>;

const CHILD = `${root}test/fixtures/asking-child.mjs`;
const STATE_KEY = 'a-key-that-outlives-the-bridge';

let folder: string;
let calls: string;
const servers: RunningServer[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everwire-'));
  calls = join(folder, 'calls');
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(folder, { recursive: true });
});

/** A bridge. With a port, it replaces another bridge there. */
async function bridge(words: readonly string[], port = '0'): Promise<RunningServer> {
  const server = await startServer([...programs.everwire, 'bridge', '--port', port, ...words], { CALLS: calls });
  servers.push(server);
  return server;
}

/** Starts the next bridge at the address of one that was killed. */
async function successor({ url, pid, exited }: RunningServer, words: readonly string[]): Promise<RunningServer> {
  process.kill(pid, 'SIGKILL');
  await exited;
  return bridge(words, new URL(url).port);
}

const child = ['--', process.execPath, CHILD];
let lastId = 0;

/** Sends one request of 2026-07-28. The client keeps no state. */
async function send({ url }: { url: string }, method: string, params: Json): Promise<Json> {
  const message = modernRequest((lastId += 1), method, params, ABLE);
  const response = await fetch(url, { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) });
  if (response.headers.get('content-type') !== 'text/event-stream') return (await response.json()) as Json;
  const events = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
  return JSON.parse(events.at(-1)!.slice(6));
}

const call = (server: { url: string }, name: string, more: Json = {}): Promise<Json> =>
  send(server, 'tools/call', { name, arguments: { who: 'she' }, ...more });

/** The request state of a call that has asked a question. */
async function asked(server: { url: string }, name: string): Promise<{ requestState: string; inputResponses: Json }> {
  const { result } = await call(server, name);
  expect(result).toMatchObject({ resultType: 'input_required' });
  const answers = Object.keys(result.inputRequests).map((key) => [key, { action: 'accept', content: { name: 'Ada' } }]);
  return { requestState: result.requestState, inputResponses: Object.fromEntries(answers) };
}

const counted = async (): Promise<string[]> => (await readFile(calls, 'utf8')).trim().split('\n');

describe('the retry of a client of 2026-07-28 that was asked a question', () => {
  test('fails if the process that asked was killed, and the next call works', async () => {
    const server = await bridge(child);
    const waiting = await asked(server, 'greet');
    for (const pid of descendants(server.pid)) process.kill(pid, 'SIGKILL');
    await server.line(/was lost/);
    const { error } = await call(server, 'greet', waiting);
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining('was killed by SIGKILL') });
    const { result } = await call(server, 'greet', await asked(server, 'greet'));
    expect(result.content).toEqual([{ type: 'text', text: 'she is Ada' }]);
    expect(await counted()).toEqual(['greet', 'greet']);
  });

  test('to a server with sessions fails if the bridge restarted: the error says to call again, and nothing runs twice', async () => {
    const former = await bridge(child);
    const waiting = await asked(former, 'greet');
    const server = await successor(former, child);
    const { error } = await call(server, 'greet', waiting);
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/call again|requestState/) });
    const { result } = await call(server, 'greet', await asked(server, 'greet'));
    expect(result.content).toEqual([{ type: 'text', text: 'she is Ada' }]);
    expect(await counted()).toEqual(['greet', 'greet']);
  });

  test('continues with the same state key if the tool only reads, even if nobody listed the tools', async () => {
    const words = ['--state-key', STATE_KEY, ...child];
    const former = await bridge(words);
    const waiting = await asked(former, 'greet-harmlessly');
    const mayNot = await asked(former, 'greet');
    const server = await successor(former, words);
    const { result } = await call(server, 'greet-harmlessly', waiting);
    expect(result.content).toEqual([{ type: 'text', text: 'she is Ada' }]);
    const { error } = await call(server, 'greet', mayNot);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('call again without it') });
    expect((await counted()).toSorted()).toEqual(['greet', 'greet-harmlessly', 'greet-harmlessly']);
  });

  test('to a server without sessions loses nothing when the bridge restarts', async () => {
    const upstream = await startServer([...programs.features, '--port', '0']);
    servers.push(upstream);
    const former = await bridge([upstream.url]);
    const waiting = await asked(former, 'ask');
    const server = await successor(former, [upstream.url]);
    const { result } = await call(server, 'ask', waiting);
    expect(JSON.parse(result.content[0].text)).toEqual({ action: 'accept', content: { name: 'Ada' } });
  });

  test('leaves no child behind if the bridge was killed', async () => {
    const former = await bridge(child);
    await asked(former, 'greet');
    const family = descendants(former.pid);
    expect(family).toHaveLength(1);
    await successor(former, child);
    await eventually(() => !family.some(isAlive), 'the child has ended');
  });
});

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const probe = createTcp();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** A server of one era, over HTTP. */
async function ofEra(eras: 'legacy' | 'modern', port: number): Promise<() => Promise<void>> {
  const mcp = new McpServer({ name: eras, version: '1.0.0', eras });
  mcp.tool('era', { annotations: { readOnlyHint: true } }, () => eras);
  const http = createServer(mcp.node);
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      await mcp.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    })());
  onTestFinished(stop);
  return stop;
}

async function session({ url, sseUrl }: RunningServer): Promise<RawClient> {
  const client = await RawClient.connect('2025-11-25', 'http', { stdio: [], url, sseUrl });
  onTestFinished(() => client.close().catch(() => {}));
  return client;
}

/** Calls until the server answers. Calls may fail because it restarts, and one because it speaks another revision. */
async function answered(ask: () => Promise<string>): Promise<string> {
  const failures: string[] = [];
  const answer = await eventually(
    () => ask().catch(({ message }: Error) => void failures.push(message)),
    'a call is answered',
  );
  expect(failures.filter((message) => message.includes('another revision')).length).toBeLessThan(2);
  return answer;
}

describe('a server that speaks another era after a restart', () => {
  test.each([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ] as const)('over HTTP, %s and then %s, serves open sessions and new ones', async (first, second) => {
    const port = await freePort();
    const stop = await ofEra(first, port);
    const server = await bridge([`http://127.0.0.1:${port}/mcp`]);
    const open = await session(server);
    const viaSession = async (client = open): Promise<string> =>
      (await client.callTool({ name: 'era', arguments: {} }))['content'][0].text;
    const viaModern = async (): Promise<string> => {
      const { result, error } = await call(server, 'era', { arguments: {} });
      if (error) throw new Error(error.message);
      return result.content[0].text;
    };
    expect([await viaSession(), await viaModern()]).toEqual([first, first]);
    await stop();
    await ofEra(second, port);
    expect(await answered(viaModern)).toBe(second);
    expect(await answered(viaSession)).toBe(second);
    expect(await viaSession(await session(server))).toBe(second);
  });

  test('over stdio, in both directions, serves open sessions and new ones', async () => {
    // Each process speaks a different era than the one before it.
    const script = `
      import { existsSync, rmSync, writeFileSync } from 'node:fs';
      const mark = ${JSON.stringify(join(folder, 'mark'))};
      const eras = existsSync(mark) ? 'modern' : 'legacy';
      if (eras === 'modern') rmSync(mark); else writeFileSync(mark, '');
      const { McpServer } = await import(${JSON.stringify(`${root}dist/lib/server.js`)});
      const mcp = new McpServer({ name: eras, version: '1.0.0', eras });
      mcp.tool('era', {}, () => eras);
      mcp.tool('die', {}, () => process.exit(0));
      await mcp.stdio();`;
    // The first process is the check of the bridge at its start.
    const server = await bridge(['--shared', '--', process.execPath, '--input-type=module', '-e', script]);
    const open = await session(server);
    const era = async (client = open): Promise<string> =>
      (await client.callTool({ name: 'era', arguments: {} }))['content'][0].text;
    const modernEra = async (): Promise<string> =>
      (await call(server, 'era', { arguments: {} }))['result'].content[0].text;
    const seen = [await era()];
    for (let round = 0; round < 3; round += 1) {
      expect(await modernEra()).toBe(seen.at(-1));
      const died = await open.callTool({ name: 'die', arguments: {} }).catch((error: Error) => error);
      expect(died).toMatchObject({ code: -32000, message: expect.stringContaining('exited with code 0') });
      seen.push(await era());
      expect(await era(await session(server))).toBe(seen.at(-1));
    }
    expect(new Set(seen)).toEqual(new Set(['legacy', 'modern']));
    expect(seen[0]).toBe(seen[2]);
    expect(seen[1]).toBe(seen[3]);
  });
});
