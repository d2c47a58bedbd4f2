import { once } from 'node:events';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { demo, features, node, runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';
import { programs, root } from '../support/process.ts';

describe('list', () => {
  test('shows a server’s lists in tables', async () => {
    const { code, stdout, stderr } = await runEverwire(['list', ...demo]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'Tools',
      '  add  a: integer, b: integer  Add two numbers',
      'Resource templates',
      '  greeting://{name}  text/plain  greeting: Get a personalized greeting',
      'Prompts',
      '  greet_user  name, style?  Generate a greeting prompt',
    ]);
  });

  test('shows the requested lists, also as JSON', async () => {
    const { code, stdout } = await runEverwire(['list', 'prompts', 'templates', '--json', ...demo]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      prompts: [expect.objectContaining({ name: 'greet_user' })],
      resourceTemplates: [expect.objectContaining({ uriTemplate: 'greeting://{name}' })],
    });
    const { stdout: tools } = await runEverwire(['list', 'tools', ...demo]);
    expect(tools).toBe('  add  a: integer, b: integer  Add two numbers');
  });
});

test('a server that cannot start is started twice, and what it writes is printed once', async () => {
  const dead = ['--', node, `${root}test/fixtures/mortal.mjs`, 'dead'];
  expect(await runEverwire(['list', ...dead])).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'no license found\neverwire: Cannot connect: Connection closed: mortal exited with code 3: no license found',
  });
});

describe('read', () => {
  test('prints text, and describes other content', async () => {
    expect(await runEverwire(['read', 'greeting://Ada', ...demo])).toEqual({
      code: 0,
      stdout: 'Hello, Ada!',
      stderr: '',
    });
    expect(await runEverwire(['read', 'feature://bytes', ...features])).toMatchObject({
      stdout: '[image/png, 70 bytes]',
    });
  });

  test('writes the contents to a file', async () => {
    const file = path.join(temporaryFolder(), 'read.png');
    expect(await runEverwire(['read', 'feature://bytes', '--output', file, ...features])).toMatchObject({ code: 0 });
    expect(readFileSync(file)).toHaveLength(70);
  });

  test('fails with the error of the server', async () => {
    const { code, stdout, stderr } = await runEverwire(['read', 'nothing://here', ...demo]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^everwire: the server answered with an error: .*nothing:\/\/here.* \(-3\d+\)$/);
  });
});

test('prompt fills in a prompt, and names missing arguments', async () => {
  expect(await runEverwire(['prompt', 'greet_user', 'name=Ada', 'style=formal', ...demo])).toEqual({
    code: 0,
    stdout: 'user:\nPlease write a formal, professional greeting for someone named Ada.',
    stderr: '',
  });
  const { stdout } = await runEverwire(['prompt', 'greet_user', 'name=Ada', '--json', ...demo]);
  expect(JSON.parse(stdout)).toMatchObject({ messages: [{ role: 'user' }] });
  const missing = await runEverwire(['prompt', 'greet_user', 'style=formal', ...demo]);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringMatching(/greet_user needs the argument name\. /) });
  const unknown = await runEverwire(['prompt', 'greet_user', 'nam=Ada', ...demo]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(/no argument "nam" \(did you mean "name"/) });
});

test('complete suggests values for an argument', async () => {
  expect(await runEverwire(['complete', 'greet_user', 'style=f', 'name=Ada', ...demo])).toEqual({
    code: 0,
    stdout: 'friendly\nformal',
    stderr: '',
  });
  const template = await runEverwire(['complete', 'feature://item/{id}', 'id=1', '--json', ...features]);
  expect(JSON.parse(template.stdout)).toMatchObject({ values: ['1', '12'] });
});

test('ping and discover show that a server responds, and its identity', async () => {
  const ping = await runEverwire(['ping', ...demo]);
  expect(ping).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^answered in [\d.]+ ms \(20\d\d-/),
    stderr: '',
  });
  const discover = await runEverwire(['discover', '--json', '--revision', '2025-06-18', ...demo]);
  expect(discover).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(discover.stdout)).toMatchObject({ revision: '2025-06-18', capabilities: { tools: {} } });
  const read = await runEverwire(['discover', ...demo]);
  expect(read.stdout).toMatch(/^ {2}server +Demo 1\.0\.0$/m);
});

describe('listen', () => {
  test('prints changes, and ends when interrupted', async () => {
    const child = startEverwire(['listen', 'feature://fixed', '--tools', ...features]);
    await child.line(/^listening to tools, feature:\/\/fixed$/);
    child.child.kill('SIGINT');
    expect(await child.exited).toEqual({ code: 130, signal: null });
    expect(child.stdout).toEqual([]);
  });

  /** Listens to a server that sends this many changes at once, and never reads what is printed. */
  async function unread(changes: number) {
    const server = `
      const answers = { initialize: { protocolVersion: '2025-11-25', capabilities: { resources: { subscribe: true } }, serverInfo: { name: 'x', version: '1' } } };
      const say = (message, done) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n', done);
      require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        if (id === undefined) return;
        if (method === 'server/discover') return say({ id, error: { code: -32601, message: 'Method not found' } });
        say({ id, result: answers[method] ?? {} });
        if (method !== 'resources/subscribe') return;
        for (let n = 0; n < ${changes}; n += 1) say({ method: 'notifications/resources/updated', params });
        say({ method: 'notifications/resources/updated', params }, () => console.error('sent'));
      });`;
    const child = startEverwire(['listen', `x:${'y'.repeat(4000)}`, '--', node, '-e', server]);
    child.child.stdout!.pause();
    await child.line(/^sent$/);
    return child;
  }

  test('ends when interrupted, even if nobody reads what it prints', async () => {
    const child = await unread(500);
    const ended = once(child.child, 'exit');
    child.child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
  });

  test('ends with an error if too many changes wait, because nobody reads what it prints', async () => {
    const child = await unread(20_000);
    await child.line(/^everwire: nobody reads the output: more than 10,000 changes wait$/);
    child.child.stdout!.resume();
    expect(await child.exited).toEqual({ code: 1, signal: null });
  });

  test('refuses a server without notifications', async () => {
    const server = `
      const answers = { initialize: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } } };
      require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined) return;
        const result = answers[method];
        const outcome = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
        console.log(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
      });`;
    const { code, stderr } = await runEverwire(['listen', '--', node, '-e', server]);
    expect(code).toBe(1);
    expect(stderr).toContain('the server does not announce changes of its lists');
  });
});

test('the official reference server is listed, called, read and prompted', async () => {
  const everything = ['--', node, ...programs.everything];
  const { stdout } = await runEverwire(['list', '--json', ...everything]);
  expect(JSON.parse(stdout)).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]),
  });
  expect(await runEverwire(['call', 'echo', 'message=hello', ...everything])).toMatchObject({
    code: 0,
    stdout: 'Echo: hello',
  });
  expect(await runEverwire(['call', 'get-sum', 'a=1.5', 'b=2', ...everything])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('3.5'),
  });
  const progress = ['call', 'trigger-long-running-operation', 'duration=1', 'steps=2', '--timeout', '20'];
  expect(await runEverwire([...progress, ...everything])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('completed'),
  });
});

test.each<[string, string[], RegExp]>([
  ['a missing target', ['list'], /a target is missing/],
  ['an unknown list', ['list', 'tols', ...demo], /no list of "tols" \(did you mean "tools"\?\)/],
  ['an unknown revision', ['ping', '--revision', '2020-01-01', ...demo], /--revision/],
  ['an invalid time', ['ping', '--timeout', 'soon', ...demo], /--timeout/],
  ['an unknown option', ['ping', '--frobnicate', ...demo], /--frobnicate/],
  ['JSON together with a file', ['read', 'a:b', '--json', '--output', 'x', ...demo], /--output.*--json/],
  ['a header for a command', ['ping', '--header', 'a: b', ...demo], /--header is for servers with a URL/],
])('%s is a usage error', async (_, args, said) => {
  const { code, stdout, stderr } = await runEverwire(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(said);
});

test('options stand anywhere before --', async () => {
  const sum = { code: 0, stdout: '42', stderr: '' };
  const json = ['--args-json', '{"b":2}'];
  for (const words of [
    [...json, 'add', 'a=40'],
    ['add', ...json, 'a=40'],
    ['add', 'a=40', ...json],
  ]) {
    expect(await runEverwire(['call', ...words, ...demo])).toEqual(sum);
  }
});

test('--help shows the usage of each command', async () => {
  const { code, stdout } = await runEverwire(['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ {2}call <target> <tool> \[key=value\.\.\.\]\n +call a tool/m);
  expect(stdout).toMatch(/^ {2}bridge <url> \| -- <command> \[args\.\.\.\]\n +serve a local or remote MCP server/m);
  expect(stdout).toMatch(/^ {2}ping <target> +check whether/m);
});

test.each([[], ['bridge'], ['demo'], ['call'], ['complete'], ['list']])(
  'the help of %j is at most 80 columns wide',
  async (...command) => {
    const { stdout } = await runEverwire([...command, '--help']);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  },
);

test.each(['list', 'call', 'read', 'prompt', 'complete', 'listen', 'ping', 'discover'])(
  '%s --help has examples and exit codes',
  async (name) => {
    const { code, stdout, stderr } = await runEverwire([name, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`everwire ${name} `);
    expect(stdout).toContain('Exit codes: 0');
  },
);

test('a command ends without an error if its reader leaves early', async () => {
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', `"$0" "$@" | head -n 1`, node, ...programs.everwire, 'list', ...features],
    { encoding: 'utf8', timeout: 20_000 },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
