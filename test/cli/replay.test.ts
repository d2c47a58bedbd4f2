import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { demo, runEverwire, temporaryFolder } from '../support/command-line.ts';
import { root } from '../support/process.ts';

const page = readFileSync(`${root}docs/replay.md`, 'utf8');

const numbers = {
  type: 'object',
  properties: { a: { type: 'integer' }, b: { type: 'integer' } },
  required: ['a', 'b'],
} as const;
const output = { type: 'object', properties: { result: { type: 'integer' } }, required: ['result'] } as const;

/** The server of the guide, before and after a change. */
function serverOf(changed: boolean): McpServer {
  const server = new McpServer({ name: 'sums', version: '1.0.0' });
  const description = changed ? 'Adds two numbers' : 'Adds numbers';
  server.tool('add', { description, input: numbers, output }, ({ a, b }) => ({
    content: [{ type: 'text', text: 'done' }],
    structuredContent: { result: a + b + (changed ? 1 : 0) },
  }));
  server.tool('ask', {}, async (_, ctx) => {
    const { action } = await ctx.elicit({
      message: changed ? 'Your name?' : 'Name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return action;
  });
  server.resource('sums://help', { name: 'help' }, () => 'Adds.');
  return server;
}

async function serve(changed: boolean, wiretap?: Capture): Promise<string> {
  const listener = await serverOf(changed).listen({ port: 0, wiretap });
  onTestFinished(() => listener.close());
  return listener.url;
}

/** Records a session with a server. @param name of the tool that is called last. */
async function recorded(file: string, changed: boolean): Promise<void> {
  const capture = new Capture();
  const onerror = (error: Error): void => {
    throw error;
  };
  const recording = await recordToFile(capture, file, { onerror });
  const client = await connect(await serve(changed), {
    wiretap: capture,
    revision: '2026-07-28',
    onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
  });
  await client.readResource('sums://help');
  await client.listTools();
  await client.callTool('add', { a: 2, b: 3 });
  await client.callTool('ask');
  await client.close();
  await recording.close();
}

async function recordings(): Promise<[before: string, after: string]> {
  const folder = temporaryFolder();
  const files = ['before.mcpcap', 'after.mcpcap'].map((name) => path.join(folder, name)) as [string, string];
  await recorded(files[0], false);
  await recorded(files[1], true);
  return files;
}

describe('everwire compare', () => {
  test('shows what differs, as in the guide, at most 80 columns wide', async () => {
    const { code, stdout, stderr } = await runEverwire(['compare', ...(await recordings())]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const example = /^```text\n([\s\S]*?)^```/m.exec(page)![1]!;
    const unnumbered = (text: string): string => text.replaceAll(/records \d+ and \d+/g, 'records');
    expect(unnumbered(stdout)).toBe(unnumbered(example.trimEnd()));
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('writes JSON to a file', async () => {
    const out = path.join(temporaryFolder(), 'report.json');
    const options = ['--format', 'json', '--out', out];
    const { code, stdout, stderr } = await runEverwire(['compare', ...(await recordings()), ...options]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`everwire: before.mcpcap and after.mcpcap: 3 of 5 requests differ; the report is in ${out}`);
    const report = JSON.parse(readFileSync(out, 'utf8'));
    expect(report).toMatchObject({ differs: true, counts: { same: 2, changed: 3, missing: 0, new: 0 }, notes: [] });
    expect(report.requests).toContainEqual({
      request: 'tools/call add',
      outcome: 'changed',
      records: { before: expect.any(Number), after: expect.any(Number) },
      arguments: { a: 2, b: 3 },
      differences: [{ what: 'result', pointer: '/structuredContent/result', before: 5, after: 6 }],
    });
  });

  test('finds nothing in the same recording, or in what is ignored', async () => {
    const [before, after] = await recordings();
    expect(await runEverwire(['compare', before, before])).toMatchObject({ code: 0 });
    const ignore = ['--ignore', '/tools', '--ignore', '/structuredContent/*', '--ignore', '/message'];
    expect(await runEverwire(['compare', before, after, ...ignore])).toMatchObject({ code: 0 });
    const wrong = await runEverwire(['compare', before, after, '--ignore', 'result.time']);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('It must be a JSON pointer');
  });

  test('shows escapes for what a peer wrote', async () => {
    const folder = temporaryFolder();
    const files = await Promise.all(
      ['one', 'other'].map(async (said) => {
        const file = path.join(folder, `${said}.mcpcap`);
        const server = new McpServer({ name: 'hostile', version: '1' });
        server.tool('say', {}, () => `${said}\u001b[2J\nrm -rf`);
        const listener = await server.listen({ port: 0 });
        onTestFinished(() => listener.close());
        const capture = new Capture();
        const recording = await recordToFile(capture, file, { onerror: () => {} });
        const client = await connect(listener.url, { wiretap: capture });
        await client.callTool('say');
        await client.close();
        await recording.close();
        return file;
      }),
    );
    const { stdout } = await runEverwire(['compare', ...files]);
    expect(stdout).toContain(String.raw`one\u001b[2J\nrm -rf`);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toMatch(/^rm/m);
  });

  test('needs two recordings', async () => {
    const [before] = await recordings();
    expect(await runEverwire(['compare', before])).toMatchObject({ code: 2 });
    expect(await runEverwire(['compare', before, `${root}package.json`])).toMatchObject({ code: 2 });
    expect(await runEverwire(['compare', before, 'missing.mcpcap'])).toMatchObject({
      code: 2,
      stderr: 'everwire: cannot read missing.mcpcap: there is no such file or folder',
    });
  });
});

describe('everwire replay', () => {
  test('calls a tool only if it is allowed, and says so', async () => {
    const [before] = await recordings();
    const { code, stdout } = await runEverwire(['replay', await serve(true), before]);
    expect(code).toBe(1);
    expect(stdout).toContain('Not repeated:');
    expect(stdout).toMatch(
      /tools\/call add \(record \d+\): the tool is not marked as read-only; to repeat it:\n {4}--call add\n/,
    );
    expect(stdout).toMatch(/2 same, 1 changed, 0 missing, 0 new$/);
    const allowed = await runEverwire(['replay', await serve(true), before, '--call', 'a*', '--format', 'json']);
    expect(JSON.parse(allowed.stdout)).toMatchObject({
      before: 'before.mcpcap',
      after: '127.0.0.1',
      counts: { changed: 3 },
      notRepeated: [],
    });
  });

  test('repeats to a command, and records the new session', async () => {
    const folder = temporaryFolder();
    const [file, again] = ['one.mcpcap', 'two.mcpcap'].map((name) => path.join(folder, name)) as [string, string];
    await runEverwire(['call', 'add', 'a=1', 'b=2', '--record', file, ...demo]);
    const replayed = await runEverwire(['replay', file, '--call', 'add', '--record', again, ...demo]);
    expect(replayed).toMatchObject({ code: 0, stderr: '' });
    expect(await runEverwire(['compare', file, again])).toMatchObject({ code: 0 });
  });

  test('says what is wrong with the command line', async () => {
    expect(await runEverwire(['replay', 'https://example.com/mcp'])).toMatchObject({
      code: 2,
      stderr: 'everwire: the recording is missing: the path of an .mcpcap file',
    });
    expect(await runEverwire(['replay', 'https://example.com/mcp', 'a.mcpcap', 'b'])).toMatchObject({
      code: 2,
      stderr: 'everwire: replay takes only a target and a recording, and not "b"',
    });
  });

  test('ends with code 3 if the server cannot be reached', async () => {
    const [before] = await recordings();
    const gone = await serverOf(false).listen({ port: 0 });
    await gone.close();
    expect(await runEverwire(['replay', gone.url, before])).toMatchObject({ code: 3 });
  });
});

test('the commands of the guide work', async () => {
  const [before, after] = await recordings();
  const url = await serve(false);
  const real = new Map([
    ['https://example.com/mcp', url],
    ['session.mcpcap', before],
    ['before.mcpcap', before],
    ['after.mcpcap', after],
  ]);
  const blocks = Array.from(page.matchAll(/^```sh\n([\s\S]*?)^```/gm), ([, block]) => block!);
  const commands = blocks.flatMap((block) => block.trim().split('\n'));
  expect(commands).toHaveLength(3);
  for (const command of commands) {
    // The server of the guide is at a URL here, and not a command.
    const words = command.replaceAll("'", '').replace('-- node server.js', '').trim().split(' ').slice(1);
    if (command.includes('--')) words.splice(1, 0, url);
    const { code, stderr } = await runEverwire(words.map((word) => real.get(word) ?? word));
    expect({ command, code, stderr }).toEqual({ command, code: words[0] === 'compare' ? 1 : 0, stderr: '' });
  }
});
