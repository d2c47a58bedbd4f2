import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TestIssuer } from '../../test/support/issuer.ts';
import { eventually, root, startNode, type RunningProcess } from '../../test/support/process.ts';
import { eras, textOf } from '../../test/support/reader.ts';
import { filesShownIn } from '../../test/support/shown.ts';
import { serve } from './stored.ts';

describe('the page about production', () => {
  const files = filesShownIn('docs/guides/production.md');

  test('shows every file here, once', () => {
    const here = readdirSync(new URL('.', import.meta.url)).filter((name) => !name.endsWith('.test.ts'));
    const sorted = (names: string[]) => names.toSorted((a, b) => a.localeCompare(b));
    expect(sorted(files.map(({ file }) => file))).toEqual(sorted(here.map((name) => `examples/production/${name}`)));
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

test('the page says how to compile the server', () => {
  const [command] = /^npx tsc .+$/m.exec(readFileSync(`${root}docs/guides/production.md`, 'utf8'))!;
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-compile-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  copyFileSync(`${root}examples/production/server.ts`, path.join(folder, 'server.ts'));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  mkdirSync(path.join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['zod', '@types/node'])
    symlinkSync(`${root}node_modules/${name}`, path.join(folder, 'node_modules', name));
  symlinkSync(root, path.join(folder, 'node_modules/everwire'));
  const [, , ...words] = command.split(' ');
  execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, ...words], { cwd: folder });
  expect(existsSync(path.join(folder, 'server.js'))).toBe(true);
});

const RESOURCE = 'https://mcp.example.com/mcp';
const STATE_KEY = 'a state key of 32 bytes or more.';
const program = `${root}dist/examples/production/server.js`;

let issuer: TestIssuer;
let folder: string;
beforeAll(async () => {
  issuer = await TestIssuer.start();
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-production-'));
  writeFileSync(path.join(folder, 'state-key'), `${STATE_KEY}\n`);
});
afterAll(async () => {
  await issuer.close();
  rmSync(folder, { recursive: true });
});

interface Production extends RunningProcess {
  readonly url: string;
  /** The lines of the log so far. */
  log(): Record<string, unknown>[];
}

async function start(env: NodeJS.ProcessEnv = {}): Promise<Production> {
  const STATE_KEY_FILE = path.join(folder, 'state-key');
  const running = startNode([program], { PORT: '0', RESOURCE, ISSUER: issuer.url, STATE_KEY_FILE, ...env });
  onTestFinished(async () => void (await running.stop()));
  const [, url] = await running.line(/"url":"([^"]+)"/);
  return { ...running, url: url!, log: () => running.stderr.map((line) => JSON.parse(line)) };
}

const tokenOf = (sub: string, scope = 'library:read') => issuer.token(RESOURCE, { sub, scope });

async function connect(url: string, token: string, era: (typeof eras)[number] = '2026-07-28'): Promise<Client> {
  const mode = era === '2026-07-28' ? ({ pin: era } as const) : 'legacy';
  const client = new Client({ name: 'reader', version: '1.0.0' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

const find = (client: Client) => client.callTool({ name: 'find', arguments: { title: 'Momo' } });
const lend = (client: Client) => client.callTool({ name: 'lend', arguments: { title: 'Momo' } });
const page = async (url: string, at: string) => fetch(new URL(at, url));

test('callers need a token for this server, and learn where to get one', async () => {
  const { url } = await start();
  const refused = await fetch(url, { method: 'POST' });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toContain(
    'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"',
  );
  const metadata = await page(url, '/.well-known/oauth-protected-resource/mcp');
  expect(await metadata.json()).toMatchObject({ resource: RESOURCE, authorization_servers: [issuer.url] });
  const foreign = await issuer.token('https://other.example/mcp', { scope: 'library:read' });
  await expect(connect(url, foreign)).rejects.toThrow('401');
});

test.each(eras)('a reader finds a book, and only a librarian lends it, with %s', async (era) => {
  const { url } = await start();
  const reader = await connect(url, await tokenOf('ada'), era);
  expect(textOf(await find(reader))).toBe('on the shelf');
  await expect(lend(reader)).rejects.toThrow('library:write');
  const librarian = await connect(url, await tokenOf('bob', 'library:read library:write'), era);
  expect(textOf(await lend(librarian))).toBe('Lent.');
  expect(textOf(await find(reader))).toBe(`lent to ${issuer.url}#bob`);
});

test('health and metrics show what happens', async () => {
  const { url } = await start();
  await find(await connect(url, await tokenOf('ada')));
  expect(await (await page(url, '/healthz')).json()).toEqual({ status: 'ok' });
  expect(await (await page(url, '/readyz')).json()).toEqual({ status: 'ready' });
  await fetch(url, { method: 'POST' });
  const metrics = await (await page(url, '/metrics')).text();
  expect(metrics).toContain('everwire_calls_total{server="library",method="tools/call",outcome="ok"} 1');
  expect(metrics).toContain('everwire_http_refusals_total{reason="credential",status="401"} 1');
  expect(metrics).toMatch(/^everwire_sessions 0$/m);
});

test('the log has a line of JSON for each request, without secrets', async () => {
  const { url, log, stderr } = await start();
  const token = await tokenOf('ada');
  await find(await connect(url, token));
  const line = await eventually(() => log().find(({ name }) => name === 'find'), 'a line for the call');
  expect(line).toMatchObject({ msg: 'request', outcome: 'ok', principal: `${issuer.url}#ada` });
  expect(stderr.join('\n')).not.toContain(token);
  expect(stderr.join('\n')).not.toContain(STATE_KEY);
});

test('an issuer that is unreachable is an error in the log, with its cause', async () => {
  const gone = await TestIssuer.start();
  const { url: ISSUER } = gone;
  const token = await gone.token(RESOURCE, { scope: 'library:read' });
  await gone.close();
  const { url, log } = await start({ ISSUER });
  const refused = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  expect(refused.status).toBe(503);
  const line = await eventually(() => log().find(({ level }) => level === 'error'), 'a line for the error');
  expect(line).toMatchObject({ detail: expect.stringMatching(/ECONNREFUSED.*\n +at /) });
});

test('large bodies and many calls are refused', async () => {
  const { url } = await start();
  const client = await connect(url, await tokenOf('ada'));
  const headers = { authorization: `Bearer ${await tokenOf('ada')}`, 'content-type': 'application/json' };
  const large = await fetch(url, { method: 'POST', headers, body: 'x'.repeat(300_000) });
  expect(large.status).toBe(413);
  const calls = await Promise.allSettled(Array.from({ length: 25 }, () => find(client)));
  expect(calls.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(20);
  expect(calls.some(({ status }) => status === 'rejected')).toBe(true);
});

test('only the public host and loopback are accepted', async () => {
  const { url } = await start();
  const statusFor = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get(url, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  expect(await statusFor('mcp.example.com')).toBe(401);
  expect(await statusFor('evil.example')).toBe(403);
});

test.each(eras)('it stops on SIGTERM while a client of %s is connected', async (era) => {
  const { url, child, exited, log } = await start();
  const client = await connect(url, await tokenOf('ada'), era);
  if (era === '2026-07-28') await client.listen({ toolsListChanged: true });
  child.kill('SIGTERM');
  expect(await exited).toEqual({ code: 0, signal: null });
  const ours = log().filter(({ msg }) => msg !== 'request');
  expect(ours).toMatchObject([{ msg: 'listening' }, { msg: 'stopping', signal: 'SIGTERM' }, { msg: 'stopped' }]);
});

test('a missing setting is named, and nothing starts', async () => {
  const { exited, stderr } = startNode([program], { RESOURCE: '' });
  expect((await exited).code).toBe(1);
  expect(stderr.join('\n')).toContain('The environment variable RESOURCE is missing');
});

test('with a store, a session goes on in the next process', async () => {
  const directory = path.join(folder, 'data');
  const first = await serve(directory, 0);
  const client = new Client({ name: 'reader', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(first.url));
  await client.connect(transport);
  await first.stop();
  const port = Number(new URL(first.url).port);
  const second = await serve(directory, port);
  onTestFinished(() => second.stop());
  onTestFinished(() => client.close());
  const { sessionId } = transport;
  const { content } = await client.callTool({ name: 'find', arguments: {} });
  expect(content).toEqual([{ type: 'text', text: 'on the shelf' }]);
  expect(transport.sessionId).toBe(sessionId);
});
