import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Client } from '../../src/client/index.ts';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  root,
  startNode,
  type RunningProcess,
} from '../support/process.ts';
import { recordedHttp } from '../support/recorded-http.ts';

const running: RunningProcess[] = [];
let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-config-'));
  file = path.join(directory, 'mcp.json');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
  rmSync(directory, { recursive: true });
});

const node = process.execPath;
const features = { command: node, args: [...programs.features, '--stdio'] };
const demo = { command: node, args: [...programs.everwire, 'demo', '--stdio'] };

function configure(mcpServers: object): void {
  writeFileSync(file, JSON.stringify({ mcpServers }));
}

async function start(...options: string[]): Promise<RunningProcess & { url: string }> {
  return startWith({}, ...options);
}

async function startWith(env: NodeJS.ProcessEnv, ...options: string[]): Promise<RunningProcess & { url: string }> {
  const child = startNode([...programs.everwire, 'bridge', '--port', '0', '--config', file, ...options], env);
  running.push(child);
  const [, url] = await child.line(/(?:listening on |"url":")(http:[^\s"]+)/, 30_000);
  return { ...child, url: url! };
}

async function client(url: string | URL, eras: 'legacy' | 'modern'): Promise<Client> {
  const connected = await connect(url, { eras, onerror: () => {} });
  onTestFinished(() => connected.close());
  return connected;
}

async function toolsOf(caller: Client): Promise<string[]> {
  return (await caller.listTools()).map(({ name }) => name);
}

const sum = { structuredContent: { result: 3 } };

const mortal = `${root}test/fixtures/mortal.mjs`;

describe('one failure of a server is logged once', () => {
  test('if its process ends', async () => {
    configure({ features, mortal: { command: node, args: [mortal] } });
    const { url, stderr, line } = await start();
    const caller = await client(url, 'legacy');
    await expect(caller.callTool('mortal__die')).rejects.toThrow('exited with code 4');
    await line(/starts it again/);
    await caller.callTool('mortal__pid');
    expect(stderr.filter((each) => each.includes('out of memory'))).toEqual([
      '[mortal] out of memory',
      'everwire: mortal: The connection to the server was lost: mortal exited with code 4: out of memory; the next request starts it again',
    ]);
  });

  test.each([
    ['at once', '0'],
    // Meanwhile, another process of it is started: one probes the server, and one is for the client.
    ['after a while', '200'],
  ])('if it cannot run and ends %s, however often it is started', async (_, milliseconds) => {
    configure({ features, dead: { command: node, args: [mortal, 'dead', milliseconds] } });
    const { url, stderr, line } = await start();
    await line(/^everwire: dead is not available/);
    const caller = await client(url, 'legacy');
    for (let count = 0; count < 2; count += 1) {
      await expect(caller.callTool('dead__pid')).rejects.toThrow('exited with code 3');
      await caller.listTools();
    }
    expect(stderr.filter((each) => each.includes('dead'))).toEqual([
      '[dead] no license found',
      'everwire: dead is not available: Cannot connect: Connection closed: dead exited with code 3: no license found',
    ]);
  });
});

test('clients share one process of a server that the file shares, and of no other', async () => {
  const command = { command: node, args: [mortal] };
  configure({ own: command, common: { ...command, shared: true } });
  const { url } = await start();
  const clients = [await client(url, 'legacy'), await client(url, 'legacy')];
  const pids = (tool: string) =>
    Promise.all(clients.map(async (caller) => JSON.stringify((await caller.callTool(tool)).content)));
  expect(new Set(await pids('own__pid')).size).toBe(2);
  expect(new Set(await pids('common__pid')).size).toBe(1);
});

test('a client that lists everything reads once that a server does not respond', async () => {
  configure({ features, gone: { command: node, args: ['-e', 'process.exit(1)'] } });
  const { url } = await start();
  const listed = startNode([...programs.everwire, 'list', url]);
  running.push(listed);
  expect(await listed.exited).toMatchObject({ code: 0 });
  expect(listed.stderr).toEqual([
    '[warning] everwire: entries of gone are missing in lists, because there was no valid response',
  ]);
});

test('servers that are down from the start show in /readyz, in the metrics and in calls of their tools', async () => {
  const gone = { command: node, args: ['-e', 'process.exit(1)'] };
  configure({ gone, 'also gone': gone });
  const server = await start('--metrics');
  await Promise.all([server.line(/^everwire: gone is not/), server.line(/^everwire: also gone is not/)]);
  expect((await fetch(new URL('/readyz', server.url))).status).toBe(503);
  configure({ gone, features });
  await server.line(/^everwire: serving server=features/);
  expect((await fetch(new URL('/readyz', server.url))).status).toBe(200);
  const figures = await (await fetch(new URL('/metrics', server.url))).text();
  expect(figures).toContain('\neverwire_upstream_up{server="gone"} 0\n');
  expect(figures).toContain('\neverwire_upstream_up{server="features"} 1\n');
  const [down, misspelt] = [['gone__add', 'a=1'], ['features__ad']].map((words) => {
    const child = startNode([...programs.everwire, 'call', server.url, ...words]);
    running.push(child);
    return child;
  });
  expect(await down!.exited).toMatchObject({ code: 1 });
  expect(down!.stderr.at(-1)).toMatch(/^everwire: .*exited with code 1/);
  expect(await misspelt!.exited).toMatchObject({ code: 2 });
});

describe.each(['legacy', 'modern'] as const)('several servers, for a client of a %s revision', (eras) => {
  test('are served together and separately, even if one is unreachable', async () => {
    configure({ features, demo, 'not there': { command: 'no-such-command-anywhere' } });
    const server = await start('--metrics');
    const all = await client(server.url, eras);
    const tools = await toolsOf(all);
    expect(tools).toEqual(expect.arrayContaining(['features__add', 'demo__add', 'features__echo']));
    expect(await all.callTool('features__add', { a: 1, b: 2 })).toMatchObject(sum);
    const one = await client(new URL('/servers/demo/mcp', server.url), eras);
    expect(await toolsOf(one)).toContain('add');
    expect(await one.callTool('add', { a: 1, b: 2 })).toMatchObject(sum);

    expect((await fetch(new URL('/servers/none/mcp', server.url), { method: 'POST' })).status).toBe(404);
    expect((await fetch(new URL('/readyz', server.url))).status).toBe(200);
    const figures = await (await fetch(new URL('/metrics', server.url))).text();
    for (const name of ['features', 'demo']) {
      expect(figures).toContain(`everwire_tool_calls_total{server="${name}",tool="add",outcome="ok"} 1`);
    }
    const children = descendants(server.pid);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(children.filter(isAlive)).toEqual([]);
  });
});

test('a change of the file is applied, and unchanged servers continue', async () => {
  configure({ features, demo });
  const server = await start('--metrics');
  const going = await client(new URL('/servers/features/mcp', server.url), 'legacy');
  await client(new URL('/servers/demo/mcp', server.url), 'legacy');
  const figures = async (): Promise<string> => (await fetch(new URL('/metrics', server.url))).text();
  expect(await figures()).toContain('\neverwire_sessions 2\n');
  await going.callTool('grow', { name: 'grown' });
  configure({ features, another: demo });
  await server.line(/^everwire: .*mcp\.json was reloaded added=another removed=demo$/);
  // No server has this name any more.
  await eventually(async () => (await figures()).includes('\neverwire_sessions 1\n'), 'the end of a server');
  expect((await fetch(new URL('/servers/demo/mcp', server.url), { method: 'POST' })).status).toBe(404);
  expect((await going.callTool('grown')).content).toEqual([{ type: 'text', text: 'grown' }]);
  const added = await client(new URL('/servers/another/mcp', server.url), 'modern');
  expect(await added.callTool('add', { a: 1, b: 2 })).toMatchObject(sum);
  writeFileSync(file, '{ "mcpServers": ');
  await server.line(/the servers stay unchanged/);
  expect(await added.callTool('add', { a: 1, b: 2 })).toMatchObject(sum);
});

test('the log names each server, its version, its revision and its tools, or why it is not available', async () => {
  configure({ demo, 'not there': { command: 'no-such-command-anywhere' } });
  const server = await start();
  await server.line(/^everwire: serving server=demo name=Demo version=1\.0\.0 revision=2026-07-28 tools=\d+$/);
  await server.line(/^everwire: not there is not available: .*command not found/);
  configure({ demo: { ...demo, tools: { hide: ['add'] } }, 'not there': { command: 'no-such-command-anywhere' } });
  await server.line(/^everwire: .*mcp\.json was reloaded changed=demo$/);
});

test('a file without servers causes a warning', async () => {
  configure({});
  const server = await start();
  await server.line(/^everwire: .*mcp\.json has no servers, or all are disabled: nothing is served$/);
});

test('several servers are also served together over stdio', async () => {
  configure({ features, demo });
  const command = { command: node, args: [...programs.everwire, 'bridge', '--stdio', '--config', file] };
  const caller = await connect({ ...command, stderr: 'ignore' });
  onTestFinished(() => caller.close());
  expect(await caller.callTool('demo__add', { a: 1, b: 2 })).toMatchObject(sum);
});

test('the bridge and the client commands use the transport that the file names', async () => {
  const { asked, sseUrl } = await recordedHttp();
  const old = { url: sseUrl, type: 'sse' };
  configure({ old });
  const command = startNode([...programs.everwire, 'call', '--config', file, 'old', 'there']);
  running.push(command);
  expect(await command.exited).toEqual({ code: 0, signal: null });
  const server = await start();
  const caller = await client(new URL('/servers/old/mcp', server.url), 'modern');
  expect((await caller.callTool('there')).content).toEqual([{ type: 'text', text: 'it is there' }]);
  expect(asked).toContain('GET /sse');
  expect(asked).not.toContain('POST /sse');
  configure({ old, wrong: { url: sseUrl, type: 'streamable-http' } });
  await server.line(/was reloaded/);
  await expect(client(new URL('/servers/wrong/mcp', server.url), 'modern')).rejects.toThrow(
    /Streamable HTTP with a handshake: .*not allowed$/i,
  );
});

test('secrets in the file are not in the log', async () => {
  const script = 'console.error("key " + process.env.API_KEY); process.exit(1)';
  configure({ features, leaky: { command: node, args: ['-e', script], env: { API_KEY: 's3cret-of-the-file' } } });
  const server = await start('--log-format', 'json', '--log-level', 'debug');
  const caller = await client(server.url, 'modern');
  await caller.listTools();
  await server.line(/"key \[redacted\]"/);
  await server.stop();
  expect(server.stderr.map((line) => JSON.parse(line))).not.toEqual([]);
  expect(server.stderr.join('\n')).not.toContain('s3cret');
});

test('a PEM key is not in the log, and servers do not get secrets of the bridge', async () => {
  const pem = ['-----BEGIN PRIVATE KEY-----', 's3cretMIIEvQIBADANBg', '-----END PRIVATE KEY-----'].join('\n');
  const script = `
    console.error(process.env.SIGNER_PEM);
    console.error(JSON.stringify(process.env.SIGNER_PEM));
    console.error("sealed by " + process.env.SEALING, "let in by " + process.env.ADMISSION, "given " + process.env.GIVEN);
    process.exit(1)`;
  const env = { SIGNER_PEM: pem, GIVEN: 'something' };
  configure({ features, leaky: { command: node, args: ['-e', script], env } });
  const server = await startWith(
    { SEALING: 's3cret-of-the-states', ADMISSION: 's3cret-of-the-gate' },
    ...['--log-format', 'json', '--state-key', 'env:SEALING', '--api-key', 'env:ADMISSION'],
  );
  const caller = await connect(server.url, { headers: { 'x-api-key': 's3cret-of-the-gate' }, onerror: () => {} });
  onTestFinished(() => caller.close());
  await caller.listTools();
  await server.line(/sealed by undefined let in by undefined given something/);
  await server.stop();
  expect(server.stderr.join('\n')).not.toContain('s3cret');
});

test.each([
  ['does not exist', undefined, [], /^everwire: --config: .*mcp\.json.*no such file/],
  ['is not JSON', '{', [], /^everwire: --config: .*mcp\.json: line 1, column 1: this is not valid JSON/],
  [
    'is used together with a server',
    '{"mcpServers":{}}',
    ['--', node],
    /^everwire: --config already names the servers/,
  ],
])('a file that %s causes an error, with exit code 2', async (_, text, words, message) => {
  if (text !== undefined) writeFileSync(file, text);
  const child = startNode([...programs.everwire, 'bridge', '--config', file, ...words]);
  running.push(child);
  expect(await child.exited).toEqual({ code: 2, signal: null });
  expect(child.stderr).toEqual([expect.stringMatching(message)]);
});
