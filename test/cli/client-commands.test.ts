import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  descendants,
  isAlive,
  programs,
  startNode,
  startServer,
  type RunningProcess,
  type RunningServer,
} from '../support/process.ts';

const running: RunningProcess[] = [];
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-commands-'));
});

afterAll(() => rmSync(directory, { recursive: true }));

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

function start(...args: string[]): RunningProcess {
  const child = startNode([...programs.everwire, ...args]);
  running.push(child);
  return child;
}

async function serve(...args: string[]): Promise<RunningServer> {
  const server = await startServer(args);
  running.push(server);
  return server;
}

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line until it exits. */
async function run(args: readonly string[], stdin = ''): Promise<Outcome> {
  const child = start(...args);
  child.child.stdin!.end(stdin);
  const { code } = await child.exited;
  return { code, stdout: child.stdout.join('\n'), stderr: child.stderr.join('\n') };
}

const node = process.execPath;
const demo = ['--', node, ...programs.everwire, 'demo', '--stdio'];
const features = ['--', node, ...programs.features, '--stdio'];

describe('list', () => {
  test('shows a server’s lists in tables', async () => {
    const { code, stdout, stderr } = await run(['list', ...demo]);
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
    const { code, stdout } = await run(['list', 'prompts', 'templates', '--json', ...demo]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      prompts: [expect.objectContaining({ name: 'greet_user' })],
      resourceTemplates: [expect.objectContaining({ uriTemplate: 'greeting://{name}' })],
    });
    const { stdout: tools } = await run(['list', 'tools', ...demo]);
    expect(tools).toBe('  add  a: integer, b: integer  Add two numbers');
  });
});

describe('call', () => {
  test("converts arguments to the types of the tool's schema", async () => {
    expect(await run(['call', 'add', 'a=40', 'b=2', ...demo])).toEqual({ code: 0, stdout: '42', stderr: '' });
  });

  test('prints the result as JSON', async () => {
    const { code, stdout } = await run(['call', '--json', 'add', 'a=1', 'b:=1', ...demo]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { result: 2 } });
  });

  test.each([
    ['as JSON', '{"a":1,"b":2}', ''],
    ['from stdin', '-', '{"a":1,"b":2}'],
    ['from a file', '@arguments.json', ''],
  ])('takes arguments %s, and words override them', async (_, source, stdin) => {
    const file = path.join(directory, 'arguments.json');
    writeFileSync(file, '{"a":1,"b":2}');
    const from = source === '@arguments.json' ? `@${file}` : source;
    expect(await run(['call', 'add', '--args-json', from, 'b=3', ...demo], stdin)).toMatchObject({
      code: 0,
      stdout: '4',
    });
  });

  test.each<[string, string[], RegExp]>([
    ['an unknown argument', ['add', 'aa=1', 'b=2'], /add has no argument "aa" \(did you mean "a"\?\)/],
    ['an argument of another type', ['add', 'a=one', 'b=2'], /the argument a of add must be an integer, not "one"$/],
    ['a missing argument', ['add', 'a=1'], /add needs the argument b \(integer\)\. add takes a \(integer, re/],
    ['arguments that are not JSON', ['add', '--args-json', '{'], /the arguments from --args-json are not JSON/],
    ['a missing file', ['add', '--args-json', '@/nowhere'], /cannot read the arguments from \/nowhere/],
    ['an unknown tool', ['ad'], /the server has no tool "ad" \(did you mean "add"\?\)$/],
    ['a missing tool name', [], /the name of a tool is missing/],
  ])('refuses %s before anything is sent', async (_, args, said) => {
    const { code, stdout, stderr } = await run(['call', ...args, ...demo]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(said);
  });

  test('prints a tool error on stderr, or in the JSON', async () => {
    expect(await run(['call', 'fail', ...features])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'everwire: fail failed: as it should',
    });
    const { code, stdout } = await run(['call', 'fail', '--json', ...features]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ isError: true });
  });

  test('shows a warning that a server causes again and again at most 20 times', async () => {
    const file = path.join(directory, 'floods.mjs');
    writeFileSync(
      file,
      `import { createInterface } from 'node:readline';
      const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
      const initialized = {
        protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
      };
      const results = {
        initialize: initialized,
        'tools/list': { tools: [{ name: 't', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'done' }] },
      };
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined) return;
        const params = { progressToken: 'none', progress: 1 };
        if (method === 'tools/call') for (let n = 0; n < 1000; n += 1) write({ method: 'notifications/progress', params });
        write({ id, ...(results[method] ? { result: results[method] } : { error: { code: -32601, message: 'no' } }) });
      });`,
    );
    const { code, stdout, stderr } = await run(['call', 't', '--', node, file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done' });
    const warnings = stderr.split('\n');
    expect(warnings).toHaveLength(20);
    expect(warnings[0]).toBe('everwire: Progress was ignored: "none" belongs to no active request');
  });

  test('shows content of every kind, and writes binary content to a file', async () => {
    const plain = await run(['call', 'content', ...features]);
    expect(plain).toMatchObject({ code: 0, stderr: '' });
    expect(plain.stdout.split('\n')).toEqual([
      'text',
      '[image/png, 70 bytes]',
      '[audio/wav, 44 bytes]',
      'Item 1',
      '[link to feature://item/2: Item 2]',
    ]);
    const file = path.join(directory, 'content.bin');
    const { stdout } = await run(['call', 'content', '--output', file, ...features]);
    expect(stdout).toContain(`[image/png, 70 bytes, written to ${file}]`);
    expect(readFileSync(file).subarray(1, 4).toString()).toBe('PNG');
    expect(readFileSync(path.join(directory, 'content-2.bin')).subarray(0, 4).toString()).toBe('RIFF');
  });

  test("shows no progress in a pipe, and the server's log on stderr", async () => {
    expect(await run(['call', 'count', 'to=3', ...features])).toEqual({ code: 0, stdout: 'counted to 3', stderr: '' });
    expect(await run(['call', 'log', 'level=warning', 'data=careful', ...features])).toEqual({
      code: 0,
      stdout: 'logged',
      stderr: '[warning] feature-server: careful',
    });
    const quiet = await run(['call', 'log', 'level=info', 'data=x', '--log-level', 'error', ...features]);
    expect(quiet.stderr).toBe('');
  });

  test('declares no elicitation without a terminal', async () => {
    const { code, stdout, stderr } = await run(['call', 'ask', ...features]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/elicitation/);
  });

  test('reports a timeout, and ends the server’s process', async () => {
    const begun = Date.now();
    const { code, stderr } = await run(['call', 'sleep', 'ms=60000', '--timeout', '1', ...features]);
    expect(code).toBe(5);
    expect(stderr).toMatch(/tools\/call was not answered within 1000 ms/);
    expect(Date.now() - begun).toBeLessThan(20_000);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'is cancelled by %s, and leaves no server process behind',
    async (signal) => {
      const logs = mkdtempSync(path.join(directory, 'tee-'));
      const child = start('call', 'wait', '--', node, ...programs.tee, logs, node, ...programs.features, '--stdio');
      const seen = (): string =>
        readdirSync(logs)
          .map((file) => readFileSync(path.join(logs, file), 'utf8'))
          .join('');
      await expect.poll(seen, { timeout: 15_000 }).toContain('notifications/progress');
      const started = descendants(child.pid);
      expect(started).toHaveLength(2);
      child.child.kill(signal);
      expect(await child.exited).toEqual({ code: 130, signal: null });
      expect(child.stdout).toEqual([]);
      expect(child.stderr).toEqual([]);
      expect(seen()).toContain('notifications/cancelled');
      expect(started.filter(isAlive)).toEqual([]);
    },
  );
});

describe('read', () => {
  test('prints text, and describes other content', async () => {
    expect(await run(['read', 'greeting://Ada', ...demo])).toEqual({ code: 0, stdout: 'Hello, Ada!', stderr: '' });
    expect(await run(['read', 'feature://bytes', ...features])).toMatchObject({ stdout: '[image/png, 70 bytes]' });
  });

  test('writes the contents to a file', async () => {
    const file = path.join(directory, 'read.png');
    expect(await run(['read', 'feature://bytes', '--output', file, ...features])).toMatchObject({ code: 0 });
    expect(readFileSync(file)).toHaveLength(70);
  });

  test('fails with the error of the server', async () => {
    const { code, stdout, stderr } = await run(['read', 'nothing://here', ...demo]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^everwire: the server answered with an error: .*nothing:\/\/here.* \(-3\d+\)$/);
  });
});

test('prompt fills in a prompt, and names missing arguments', async () => {
  expect(await run(['prompt', 'greet_user', 'name=Ada', 'style=formal', ...demo])).toEqual({
    code: 0,
    stdout: 'user:\nPlease write a formal, professional greeting for someone named Ada.',
    stderr: '',
  });
  const { stdout } = await run(['prompt', 'greet_user', 'name=Ada', '--json', ...demo]);
  expect(JSON.parse(stdout)).toMatchObject({ messages: [{ role: 'user' }] });
  const missing = await run(['prompt', 'greet_user', 'style=formal', ...demo]);
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringMatching(/greet_user needs the argument name\. /) });
  const unknown = await run(['prompt', 'greet_user', 'nam=Ada', ...demo]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(/no argument "nam" \(did you mean "name"/) });
});

test('complete suggests values for an argument', async () => {
  expect(await run(['complete', 'greet_user', 'style=f', 'name=Ada', ...demo])).toEqual({
    code: 0,
    stdout: 'friendly\nformal',
    stderr: '',
  });
  const template = await run(['complete', 'feature://item/{id}', 'id=1', '--json', ...features]);
  expect(JSON.parse(template.stdout)).toMatchObject({ values: ['1', '12'] });
});

test('ping and discover show that a server responds, and its identity', async () => {
  const ping = await run(['ping', ...demo]);
  expect(ping).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^answered in [\d.]+ ms \(20\d\d-/),
    stderr: '',
  });
  const discover = await run(['discover', '--json', '--revision', '2025-06-18', ...demo]);
  expect(discover).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(discover.stdout)).toMatchObject({ revision: '2025-06-18', capabilities: { tools: {} } });
  const read = await run(['discover', ...demo]);
  expect(read.stdout).toMatch(/^ {2}server +Demo 1\.0\.0$/m);
});

describe('listen', () => {
  test('prints changes, and ends when interrupted', async () => {
    const child = start('listen', 'feature://fixed', '--tools', ...features);
    await child.line(/^listening to tools, feature:\/\/fixed$/);
    child.child.kill('SIGINT');
    expect(await child.exited).toEqual({ code: 130, signal: null });
    expect(child.stdout).toEqual([]);
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
    const { code, stderr } = await run(['listen', '--', node, '-e', server]);
    expect(code).toBe(1);
    expect(stderr).toContain('the server does not announce changes of its lists');
  });
});

describe('an unreachable server causes an error', () => {
  test.each<[string, string[], RegExp]>([
    ['does not exist', ['no-such-command-anywhere'], /command not found/],
    ['exits at once', [node, '-e', 'console.error("cannot work"); process.exit(3)'], /cannot work/],
    ['prints something else', [node, '-e', 'console.log("Welcome!")'], /Welcome!|exited/],
  ])('because its command %s', async (_, command, said) => {
    const { code, stdout, stderr } = await run(['ping', '--', ...command]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(said);
  });

  test('and is closed when the user interrupts the command', async () => {
    const child = start('ping', '--', node, '-e', 'console.error("up"); setInterval(() => {}, 1000)');
    await child.line(/^up$/);
    const started = descendants(child.pid);
    expect(started).toHaveLength(1);
    child.child.kill('SIGINT');
    expect(await child.exited).toEqual({ code: 130, signal: null });
    expect(started.filter(isAlive)).toEqual([]);
  });

  test('because it sends nothing', async () => {
    const { code } = await run(['ping', '--timeout', '1', '--', node, '-e', 'setInterval(() => {}, 1000)']);
    expect(code).toBe(5);
  });
});

describe('a server at a URL', () => {
  test('is used like a command', async () => {
    const { url } = await serve(...programs.everwire, 'demo', '--port', '0');
    expect(await run(['call', url, 'add', 'a=1', 'b=2'])).toEqual({ code: 0, stdout: '3', stderr: '' });
    const listed = await run(['list', url, 'tools', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({ tools: [{ name: 'add' }] });
    expect(await run(['read', url, 'greeting://Ada'])).toMatchObject({ code: 0, stdout: 'Hello, Ada!' });
  });

  test('is reached in every revision, also over HTTP+SSE', async () => {
    const { url, sseUrl } = await serve(...programs.everwire, 'demo', '--port', '0');
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
      const { code, stdout } = await run(['ping', url, '--revision', revision, '--json']);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ revision });
    }
    expect(await run(['call', sseUrl, 'add', 'a=1', 'b=2'])).toEqual({ code: 0, stdout: '3', stderr: '' });
  });

  test('notifies of changes that another client makes', async () => {
    const { url } = await serve(...programs.features, '--port', '0');
    const child = start('listen', url, 'feature://fixed', '--tools', '--json', '--count', '2');
    await child.line(/^listening to tools, feature:\/\/fixed$/);
    expect(await run(['call', url, 'touch', 'uri=feature://fixed'])).toMatchObject({ code: 0 });
    expect(await run(['call', url, 'grow', 'name=shrink'])).toMatchObject({ code: 0 });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout.map((line) => JSON.parse(line))).toEqual([
      { type: 'resource', uri: 'feature://fixed' },
      { type: 'tools' },
    ]);
  });

  test('gets the headers of the command line, and causes its own exit code if they are wrong', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(401, { 'content-type': 'text/plain' }).end('no');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const headers = ['--header', 'authorization: Bearer ${env:SECRET}', '--header', 'X-Other: 1'];
    const child = startNode([...programs.everwire, 'ping', url, ...headers], { SECRET: 'hunter2' });
    running.push(child);
    expect(await child.exited).toMatchObject({ code: 4 });
    server.close();
    expect(seen[0]).toMatchObject({ authorization: 'Bearer hunter2', 'x-other': '1' });
    expect(child.stdout).toEqual([]);
    expect(child.stderr.join('\n')).toContain('401');
    expect(child.stderr.join('\n')).not.toContain('hunter2');
  });

  test('is unreachable if nothing listens there', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect(await run(['ping', `http://127.0.0.1:${port}/mcp`])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^everwire: /),
    });
  });
});

test('the official reference server is listed, called, read and prompted', async () => {
  const everything = ['--', node, ...programs.everything];
  const { stdout } = await run(['list', '--json', ...everything]);
  expect(JSON.parse(stdout)).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'echo' })]),
  });
  expect(await run(['call', 'echo', 'message=hello', ...everything])).toMatchObject({ code: 0, stdout: 'Echo: hello' });
  expect(await run(['call', 'get-sum', 'a=1.5', 'b=2', ...everything])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('3.5'),
  });
  const progress = ['call', 'trigger-long-running-operation', 'duration=1', 'steps=2', '--timeout', '20'];
  expect(await run([...progress, ...everything])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('completed'),
  });
});

test("a server's name in mcp.json can be the target", async () => {
  const config = path.join(directory, 'mcp.json');
  const [, command, ...args] = demo;
  writeFileSync(config, JSON.stringify({ mcpServers: { mine: { command, args } } }));
  expect(await run(['call', 'mine', 'add', 'a=1', 'b=1', '--config', config])).toMatchObject({ code: 0, stdout: '2' });
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
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(said);
});

test('--help shows the usage of each command', async () => {
  const { code, stdout } = await run(['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ {2}call <target> <tool> \[key=value\.\.\.\]\n +call a tool/m);
  expect(stdout).toMatch(/^ {2}bridge <url> \| -- <command> \[args\.\.\.\]\n +serve a local or remote MCP server/m);
  expect(stdout).toMatch(/^ {2}ping <target> +check whether/m);
});

test.each([[], ['bridge'], ['demo'], ['call'], ['complete'], ['list']])(
  'the help of %j is at most 80 columns wide',
  async (...command) => {
    const { stdout } = await run([...command, '--help']);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  },
);

test.each(['list', 'call', 'read', 'prompt', 'complete', 'listen', 'ping', 'discover'])(
  '%s --help has examples and exit codes',
  async (name) => {
    const { code, stdout, stderr } = await run([name, '--help']);
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
