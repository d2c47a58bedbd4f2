import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { temporaryFolder } from '../support/command-line.ts';
import { rawServer } from '../support/http-server.ts';
import { programs, startNode, type Exit, type RunningProcess } from '../support/process.ts';

let running: RunningProcess | undefined;

afterEach(() => running?.stop());

/** Runs the command line until it exits. */
async function everwire(...args: string[]): Promise<Exit & { stderr: string[]; stdout: string[] }> {
  running = startNode([...programs.everwire, ...args]);
  running.child.stdin!.end();
  return { ...(await running.exited), stderr: running.stderr, stdout: running.stdout };
}

const node = process.execPath;
const features = pathToFileURL(programs.features[0]).href;
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
};

test('a port that is in use is an error', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await everwire('demo', '--port', String(port));
  server.close();
  expect(code).toBe(1);
  expect(stderr).toEqual([expect.stringMatching(new RegExp(`^everwire: port ${port} .*already in use`))]);
});

test.each([
  ['an unknown option', ['--frobnicate'], /--frobnicate/],
  ['an unknown option of a command', ['bridge', '--frobnicate', '--', node], /--frobnicate/],
  ['an unknown command', ['frobnicate'], /frobnicate/],
  ['an invalid port', ['demo', '--port', 'many'], /--port.*many/],
  ['a port out of range', ['demo', '--port', '65536'], /--port.*65536/],
  ['a path without a slash', ['demo', '--path', 'mcp'], /--path.*mcp/],
  ['an invalid limit', ['demo', '--max-sessions', '0'], /--max-sessions/],
  ['an invalid time', ['bridge', '--handshake-timeout', 'soon', '--', node], /--handshake-timeout.*soon/],
  ['a bridge without a server', ['bridge'], /command/],
])('%s is a usage error', async (_, args, expected) => {
  const { code, stderr, stdout } = await everwire(...args);
  expect(code).toBe(2);
  expect(stderr).toEqual([expect.stringMatching(/^everwire: /)]);
  expect(stderr[0]).toMatch(expected);
  expect(stdout).toEqual([]);
});

test('an option that is similar to a known one is corrected in the error', async () => {
  const { code, stderr } = await everwire('demo', '--portt', '1');
  expect(code).toBe(2);
  expect(stderr).toEqual(["everwire: unknown option '--portt'", '  (Did you mean --port?)']);
});

test('a command that is similar to a known one is corrected in the error', async () => {
  const { code, stderr } = await everwire('calll', 'x');
  expect(code).toBe(2);
  expect(stderr).toEqual(["everwire: unknown command 'calll'", '  (Did you mean call?)']);
});

test('without a command, everwire prints its help', async () => {
  const { code, stderr, stdout } = await everwire();
  expect({ code, stderr }).toEqual({ code: 0, stderr: [] });
  expect(stdout[0]).toMatch(/^Usage: everwire/);
});

test('the help of the bridge has examples', async () => {
  const { stdout } = await everwire('bridge', '--help');
  expect(stdout.join('\n')).toMatch(/Examples:\n {2}everwire bridge -- npx/);
});

test.each([
  ['are checked', ['--frobnicate'], /^everwire: unknown option '--frobnicate'/],
  ['conflict with those before it', ['--stdio'], /'--stdio' cannot be used with option '--bearer/],
  ['leave one URL', ['--stdio', 'more'], /not both: remove the URL, or "more" and what follows$/],
])('options of a bridge after the URL %s', async (what, after, expected) => {
  const before = what.startsWith('conflict') ? ['--bearer', 'a-token-of-a-test'] : [];
  const { code, stderr } = await everwire('bridge', ...before, 'http://127.0.0.1:9/mcp', ...after);
  expect(code).toBe(2);
  expect(stderr[0]).toMatch(expected);
});

test('a host that is not on this machine is an error', async () => {
  const { code, stderr } = await everwire('demo', '--port', '0', '--host', '192.0.2.1');
  expect(code).toBe(1);
  expect(stderr).toEqual([expect.stringMatching(/^everwire: 192\.0\.2\.1 is not an address of this machine/)]);
});

test('a bridge to a missing command is an error', async () => {
  const { code, stderr, stdout } = await everwire('bridge', '--port', '0', '--', 'no-such-command-anywhere');
  expect(code).toBe(1);
  expect(stderr).toEqual([
    expect.stringMatching(/^everwire: no-such-command-anywhere .*command not found in any folder of PATH$/),
  ]);
  expect(stdout).toEqual([]);
});

const dying = [node, '-e', 'console.error("cannot work"); process.exit(3)'];

test('a bridge to a command that exits at once is an error', async () => {
  const { code, stderr, stdout } = await everwire('bridge', '--port', '0', '--', ...dying);
  expect(code).toBe(1);
  // The command is started twice, and its stderr is shown once.
  expect(stderr).toEqual(['cannot work', expect.stringMatching(/^everwire: .*exited with code 3/)]);
  expect(stdout).toEqual([]);
});

test.each([
  ['does not exist', ['no-such-command-anywhere'], /command not found/],
  ['exits at once', dying, /exited with code 3/],
])('a bridge over stdio to a command that %s sends the error to the client and to stderr', async (_, command, why) => {
  running = startNode([...programs.everwire, 'bridge', '--stdio', '--', ...command]);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  running.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  expect(await running.exited).toEqual({ code: 1, signal: null });
  const error = { code: expect.any(Number), data: { notExecuted: true }, message: expect.stringMatching(why) };
  expect(running.stdout.map((line) => JSON.parse(line))).toEqual([{ jsonrpc: '2.0', id: 1, error }]);
  const ours = running.stderr.filter((line) => line.startsWith('everwire: '));
  expect(ours).toEqual([expect.stringMatching(why)]);
});

test('a bridge to a command that prints invalid lines and exits is an error', async () => {
  const { code, stderr, stdout } = await everwire('bridge', '--port', '0', '--', node, '-e', 'console.log("Welcome!")');
  expect(code).toBe(1);
  expect(stderr.join('\n')).toContain('Welcome!');
  expect(stderr.every((line) => line.startsWith('everwire: '))).toBe(true);
  expect(stdout).toEqual([]);
});

test('a bridge to a command that prints invalid lines and continues is an error', async () => {
  const script = 'setInterval(() => console.log("Welcome!"), 50)';
  const { code, stderr } = await everwire(
    'bridge',
    '--port',
    '0',
    '--handshake-timeout',
    '1',
    '--',
    node,
    '-e',
    script,
  );
  expect(code).toBe(1);
  expect(stderr.at(-1)).toMatch(
    /^everwire: .*neither server\/discover nor initialize: it is not an MCP server.*\(before that: node wrote to its stdout: /,
  );
});

test('a client command says what it waits for if a command is silent', async () => {
  running = startNode([...programs.everwire, 'ping', '--', 'sleep', '60']);
  await running.line(/^everwire: sleep has not answered yet: waiting up to 60 s for its first message on stdout$/);
});

test.each([
  ['over HTTP', ['--port', '0', '--handshake-timeout', '30'], 30],
  ['over stdio', ['--stdio'], 60],
])('a bridge %s says what it waits for if a command is silent', async (_, options, limit) => {
  running = startNode([...programs.everwire, 'bridge', ...options, '--', 'sleep', '60']);
  running.child.stdin!.write(`${JSON.stringify(INITIALIZE)}\n`);
  await running.line(
    new RegExp(`^everwire: sleep has not answered yet: waiting up to ${limit} s for its first message on stdout$`),
  );
});

test('a bridge of a file says which command is silent', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { quiet: { command: 'sleep', args: ['60'] } } }));
  running = startNode([...programs.everwire, 'bridge', '--port', '0', '--config', file]);
  await running.line(/^everwire: quiet has not answered yet: waiting up to 60 s for its first message on stdout$/);
});

test('a client command and a bridge say that a URL does not answer', async () => {
  const url = await rawServer(() => {});
  const { host } = url;
  running = startNode([...programs.everwire, 'list', url.href]);
  const line = await running.line(/^everwire: (.*) has not answered yet: waiting up to 60 s for its first response$/);
  expect(line[1]).toBe(host);
  await running.stop();
  running = startNode([...programs.everwire, 'bridge', '--port', '0', url.href]);
  await running.line(/^everwire: 127\.0\.0\.1 has not answered yet: waiting up to 60 s for its first response$/);
});

test.each([
  [['--', 'node', 'x.js'], /not both: remove the URL, or "node" and what follows$/],
  [['other'], /not both: remove the URL, or "other" and what follows$/],
])('a bridge of a URL and %j is refused', async (words, message) => {
  running = startNode([...programs.everwire, 'bridge', 'http://127.0.0.1:9/mcp', ...words]);
  expect(await running.exited).toMatchObject({ code: 2 });
  expect(running.stderr.at(-1)).toMatch(message);
});

test('a server for other machines says so', async () => {
  running = startNode([...programs.everwire, 'demo', '--port', '0', '--host', '0.0.0.0']);
  await running.line(/^everwire: listening on http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  await running.line(/^everwire: other machines reach it at each address of this machine, on port \d+$/);
});

test("output of a command that is no message is reported with the user's name for the server", async () => {
  const folder = temporaryFolder();
  const script = path.join(folder, 'noisy.mjs');
  writeFileSync(
    script,
    `console.log('Welcome!');\nprocess.argv.push('--stdio');\nawait import(${JSON.stringify(features)});`,
  );
  const file = path.join(folder, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { mine: { command: node, args: [script] } } }));
  const noise = (name: string): RegExp => new RegExp(`^everwire: ${name} wrote to its stdout: .*Welcome!`);
  running = startNode([...programs.everwire, 'bridge', '--port', '0', '--', node, script]);
  await running.line(noise('noisy'));
  await running.stop();
  running = startNode([...programs.everwire, 'bridge', '--port', '0', '--config', file]);
  await running.line(noise('mine'));
  await running.stop();
  running = startNode([...programs.everwire, 'ping', '--config', file, 'mine']);
  await running.line(noise('mine'));
});

test('the error of a bridge names the module that Node did not find', async () => {
  const { stderr } = await everwire('bridge', '--port', '0', '--', node, 'no-such-script.js');
  expect(stderr.at(-1)).toMatch(
    /^everwire: no-such-script did not .*no-such-script exited with code 1: Error: Cannot find module '.*\.js'$/,
  );
  // Printed by Node, so the command ran once.
  expect(stderr.filter((line) => line.startsWith('Error: Cannot find module'))).toHaveLength(1);
});
