import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { curlScript } from '../../src/export/curl.ts';
import { readHead } from '../../src/export/http-head.ts';
import { Masks } from '../../src/export/masks.ts';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { RpcError } from '../../src/jsonrpc/errors.ts';
import { canonicalJson } from '../../src/jsonrpc/shape.ts';
import { McpServer } from '../../src/server/index.ts';
import { demo, node, runEverwire, temporaryFolder } from '../support/command-line.ts';
import { root } from '../support/process.ts';

const FORMS = ['curl', 'har', 'vitest', 'html'] as const;
const PLANTED = 'planted-secret';

function serverOf(): McpServer {
  const server = new McpServer({ name: 'exported', version: '1.0.0' });
  const text = { type: 'object', properties: { text: { type: 'string' }, password: { type: 'string' } } } as const;
  server.tool('say', { description: `It's "quoted" $HOME \`id\``, input: text }, ({ text: said = '' }) => said);
  server.tool('login', { input: text }, ({ password = '' }) => ({
    content: [{ type: 'text', text: `your password is ${password}` }],
    structuredContent: { apiKey: `${PLANTED}-key`, note: `token=${PLANTED}-named` },
  }));
  server.tool('ask', {}, async (_, ctx) => {
    const form = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const { content } = await ctx.elicit({ message: 'Name?', requestedSchema: form });
    return JSON.stringify(content);
  });
  server.tool('able', {}, (_, ctx) => canonicalJson(ctx.caller.capabilities));
  server.tool('consult', {}, async (_, ctx) => {
    const messages = [{ role: 'user', content: { type: 'text', text: 'Hello' } }] as const;
    const said = await ctx.sample({ messages: [...messages], maxTokens: 5 }).catch(({ message }: Error) => message);
    const roots = await ctx.roots();
    return JSON.stringify({ said, roots });
  });
  server.resource('exported://text', { name: 'text' }, () => 'A text.');
  return server;
}

async function served(): Promise<string> {
  const listener = await serverOf().listen({ port: 0 });
  onTestFinished(() => listener.close());
  return listener.url;
}

/** Records a session over HTTP, without the masks of recordings. */
async function recorded(url: string, revision: '2025-11-25' | '2026-07-28', file: string): Promise<void> {
  const capture = new Capture();
  const recording = await recordToFile(capture, file, { mask: false, onerror: () => {} });
  const client = await connect(`${url}?token=${PLANTED}-query`, {
    ...{ revision, wiretap: capture },
    headers: { authorization: `Bearer ${PLANTED}-header`, 'x-api-key': `${PLANTED}-api` },
    ...{ tasks: false, capabilities: { experimental: { probe: {} }, extensions: { 'example.com/probe': {} } } },
    onelicit: { form: () => ({ action: 'accept', content: { name: 'Ada' } }), url: () => ({ action: 'decline' }) },
    onsample: () => {
      // A client of 2026-07-28 cannot refuse with an error.
      if (revision === '2025-11-25') throw new RpcError(-1, 'The user said no');
      return { role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'recorded' };
    },
    sampling: { tools: true },
    onchange: () => {},
    onroots: () => [{ uri: 'file:///recorded' }],
  });
  await client.listTools();
  await client.callTool('say', { text: `it's $HOME "and" \`id\` \\n \u2028 ${PLANTED}-header` });
  await client.callTool('login', { password: `${PLANTED}-pw` });
  await client.callTool('ask');
  await client.callTool('able');
  await client.callTool('consult');
  await client.readResource('exported://text');
  await client.callTool('no-such-tool').catch(() => {});
  await client.close();
  await recording.close();
}

async function exported(file: string, as: (typeof FORMS)[number]): Promise<string> {
  const { code, stdout, stderr } = await runEverwire(['export', file, '--as', as]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** What is wrong with a HAR by the JSON Schema of HAR 1.2. */
function mistakesIn(har: unknown): string[] {
  const require = createRequire(import.meta.url);
  const schemas = require('har-schema') as Readonly<Record<string, object>>;
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    formats: {
      'date-time': (text: string) => !Number.isNaN(Date.parse(text)),
      uri: (text: string) => URL.canParse(text),
      ...{ ipv4: true, ipv6: true },
    },
  });
  ajv.addMetaSchema(require('ajv/dist/refs/json-schema-draft-06.json') as object);
  for (const schema of Object.values(schemas)) ajv.addSchema(schema);
  ajv.validate('har.json', har);
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe.each(['2025-11-25', '2026-07-28'] as const)('a recording of %s', (revision) => {
  test.each(FORMS)('has no secret as %s', async (as) => {
    const file = path.join(temporaryFolder(), 'session.mcpcap');
    await recorded(await served(), revision, file);
    expect(readFileSync(file, 'utf8')).toContain(PLANTED);
    const text = await exported(file, as);
    expect(text).not.toContain(PLANTED);
    expect(text).toContain('exported://text');
  });

  test('is HAR 1.2', async () => {
    const file = path.join(temporaryFolder(), 'session.mcpcap');
    await recorded(await served(), revision, file);
    const har = JSON.parse(await exported(file, 'har')) as { log: { entries: unknown[] } };
    expect(har.log.entries.length).toBeGreaterThan(5);
    expect(mistakesIn(har)).toEqual([]);
    expect(mistakesIn({ log: { ...har.log, entries: [{}] } })).not.toEqual([]);
  });

  test('runs as a Vitest file against the same server', async () => {
    // In this package, so that the file finds everwire/client.
    const folder = mkdtempSync(path.join(root, 'dist', 'export-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const url = await served();
    const file = path.join(folder, 'session.mcpcap');
    await recorded(url, revision, file);
    const out = path.join(folder, 'session.test.mjs');
    expect(await runEverwire(['export', file, '--as', 'vitest', '--out', out])).toMatchObject({ code: 0 });
    expect(process.platform === 'win32' || (statSync(out).mode & 0o777) === 0o600).toBe(true);
    writeFileSync(path.join(folder, 'vitest.config.mjs'), 'export default {};');
    const words = [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, '--reporter', 'json'];
    const env = {
      ...process.env,
      MCP_SERVER: url,
      MCP_PASSWORD: `${PLANTED}-pw`,
      MCP_AUTHORIZATION: 'Bearer x',
      MCP_X_API_KEY: 'x',
    };
    const child = spawn(node, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    await once(child, 'close');
    const report = JSON.parse(
      Buffer.concat(output)
        .toString('utf8')
        .replace(/^[^{]*/, ''),
    );
    expect(JSON.stringify(report)).not.toContain('AssertionError');
    expect(report).toMatchObject({ numFailedTests: 0, success: true });
    expect(report.numPassedTests).toBeGreaterThanOrEqual(8);
  });
});

const hasCurl = process.platform !== 'win32' && isThere('curl');
if (!hasCurl) console.warn('SKIPPED: there is no curl, so the commands of everwire export were not run');

function isThere(program: string): boolean {
  try {
    execFileSync(program, ['--version']);
    return true;
  } catch {
    return false;
  }
}

/** Runs a script, which reads streams that do not end for one second. */
async function runScript(script: string, variables: NodeJS.ProcessEnv): Promise<string> {
  expect(script).toContain('--max-time 5');
  const child = spawn('sh', [], { env: { ...process.env, ...variables }, stdio: ['pipe', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  child.stdin.end(script.replaceAll('--max-time 5', '--max-time 1'));
  const [code] = (await once(child, 'close')) as [number];
  const text = Buffer.concat(output).toString('utf8');
  expect({ code, text }).toMatchObject({ code: 0 });
  return text;
}

describe.skipIf(!hasCurl)('the curl commands', () => {
  const variables = {
    ...{ MCP_AUTHORIZATION: 'Bearer x', MCP_X_API_KEY: 'x' },
    ...{ MCP_PASSWORD: 'swordfish', MCP_TOKEN: 'x' },
  };

  test.each([
    ['2025-11-25', '# The server asks a question in this stream.'],
    ['2026-07-28', '{\\"name\\":\\"Ada\\"}'],
  ] as const)('of %s run in a shell, with any text', async (revision, answer) => {
    const file = path.join(temporaryFolder(), 'session.mcpcap');
    await recorded(await served(), revision, file);
    const script = await exported(file, 'curl');
    for (const name of Object.keys(variables))
      expect(script).toContain(`# ${name}: set it before you run this script.`);
    // The server makes a new session and a new state, which the script takes from its responses.
    expect(script).not.toContain('MCP_SESSION_ID');
    const text = await runScript(script, variables);
    expect(text).toContain(JSON.stringify(`it's $HOME "and" \`id\` \\n \u2028 [redacted]`).slice(1, -1));
    expect(text).toContain('your password is swordfish');
    expect(text).toContain('A text.');
    // A script can answer only a question of 2026-07-28.
    expect(script + text).toContain(answer);
    expect(script).toContain('# The server keeps this stream open, so curl stops after 5 seconds.');
    const unset = spawn('sh', ['-c', script], { env: { PATH: process.env['PATH'] }, stdio: 'ignore' });
    expect(await once(unset, 'close')).not.toEqual([0, null]);
  });

  test('say what they repeat from responses that are not there', async () => {
    const head = readHead('POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: old\r\nLast-Event-ID: 5\r\n\r\n');
    const body = JSON.stringify({ id: 1, method: 'tools/call', params: { name: 'x', requestState: 'old' } });
    const exchange = { n: 1, records: [1], conn: 1, sent: 0, request: head, body, responseBody: '' };
    const script = curlScript([exchange], new Masks({ exchanges: [], parts: [] }));
    expect(script).toContain('# MCP_SESSION_ID: set it before you run this script.');
    expect(script).toContain('# requestState is the recorded one, because no recorded response has it.');
    expect(script).toContain('# Last-Event-ID is of the recorded stream. The server may no longer have its events.');
  });
});

test.skipIf(process.platform === 'win32')('stderr of a command is in the page, without secrets', async () => {
  const file = path.join(temporaryFolder(), 'stdio.mcpcap');
  const child = path.join(path.dirname(file), 'child.sh');
  const [, ...words] = demo;
  writeFileSync(child, `echo "TOKEN=${PLANTED}-stderr <b>bold</b>" >&2\nexec "$@"\n`);
  expect(await runEverwire(['list', '--record', file, '--', 'sh', child, ...words])).toMatchObject({ code: 0 });
  const page = await exported(file, 'html');
  expect(page).toContain('&lt;b&gt;bold&lt;/b&gt;');
  expect(page).not.toContain(PLANTED);
  const refused = await runEverwire(['export', file, '--as', 'curl']);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('has no HTTP, so it cannot become curl; use --as vitest or --as html');
});

test('the commands of the guide work', async () => {
  const folder = temporaryFolder();
  await recorded(await served(), '2026-07-28', path.join(folder, 'session.mcpcap'));
  const page = readFileSync(`${root}docs/export.md`, 'utf8');
  const commands = Array.from(page.matchAll(/^everwire (export .*)$/gm), ([, words]) => words!.split(' '));
  expect(commands).toHaveLength(FORMS.length);
  for (const words of commands) {
    const inFolder = words.map((word) => (word.startsWith('session.') ? path.join(folder, word) : word));
    expect(await runEverwire(inFolder)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(statSync(inFolder.at(-1)!).size).toBeGreaterThan(100);
  }
});

test('what is no recording is refused', async () => {
  expect(await runEverwire(['export', `${root}package.json`, '--as', 'html'])).toMatchObject({ code: 2 });
  expect(await runEverwire(['export', 'missing.mcpcap', '--as', 'html'])).toMatchObject({ code: 2 });
  expect(await runEverwire(['export', 'missing.mcpcap'])).toMatchObject({ code: 2 });
});
