import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { temporaryFolder } from '../support/command-line.ts';
import { programs, root, startNode, type RunningProcess } from '../support/process.ts';

let running: RunningProcess | undefined;

afterEach(() => running?.stop());

const features = ['--', process.execPath, ...programs.features, '--stdio'];
const COMMANDS = [
  ['--help'],
  ['--version'],
  ...['demo', 'bridge', 'list', 'call', 'read', 'prompt', 'complete', 'listen', 'ping', 'discover'].map((name) => [
    name,
    '--help',
  ]),
  ['list', ...features],
  ['list', '--json', ...features],
  ['call', 'count', 'to=2', ...features],
  ['discover', ...features],
  ['demo', '--stdio'],
  ['bridge', '--stdio', ...features],
];

test.each(COMMANDS.map((words) => [words.join(' ').replaceAll(root, ''), words] as const))(
  '%s ends without an error if nobody reads its output',
  async (_, words) => {
    running = startNode([...programs.everwire, ...words]);
    running.child.stdout!.destroy();
    running.child.stdin!.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
    const { code, signal } = await running.exited;
    expect({ code, signal, stderr: running.stderr.filter((line) => !line.includes('server ')) }).toEqual({
      code: 0,
      signal: null,
      stderr: [],
    });
  },
);

test('a command has the same exit code if nobody reads stderr', async () => {
  running = startNode([...programs.everwire, 'call', 'none', ...features]);
  running.child.stderr!.destroy();
  expect(await running.exited).toEqual({ code: 2, signal: null });
});

// A device on which every write fails, as if the disk were full.
test.skipIf(!existsSync('/dev/full')).each([
  ['--version', ['--version']],
  ['list', ['list', ...features]],
])('output that cannot be written causes an error: %s', (_, words) => {
  const script = 'exec "$0" "$@" > /dev/full';
  const { status, stderr } = spawnSync('sh', ['-c', script, process.execPath, ...programs.everwire, ...words], {
    encoding: 'utf8',
  });
  const problem = 'everwire: cannot write the output: no space is left on the disk\n';
  expect({ status, stderr }).toEqual({ status: 1, stderr: problem });
});

/** A server whose tool returns more text than a pipe takes. */
const LARGE = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const server = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'large', version: '1' } };
  const result =
    method === 'initialize' ? server
    : method === 'tools/list' ? { tools: [{ name: 'large', inputSchema: { type: 'object' } }] }
    : { content: [{ type: 'text', text: 'x'.repeat(2 ** 21) }] };
  const answer = method === 'server/discover' ? { error: { code: -32601, message: 'unknown' } } : { result };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
});`;

test('a signal ends a command whose output is not read, and its exit code is 130', async () => {
  const file = path.join(temporaryFolder(), 'large.mcpcap');
  for (const words of [
    ['call', 'large', '--record', file, '--', process.execPath, '-e', LARGE],
    ['export', file, '--as', 'vitest'],
  ]) {
    const child = spawn(process.execPath, [...programs.everwire, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'readable');
    child.kill('SIGTERM');
    // Nobody reads, so the end of stdout is not seen.
    expect(await once(child, 'exit')).toEqual([130, null]);
    child.stdout.destroy();
  }
});

test('a signal before a command has begun is no success', async () => {
  running = startNode([...programs.everwire, 'call', 'none', '--args-json', '-', ...features]);
  // Without an end of stdin, it waits there.
  running.child.stdin!.write('{'.repeat(2 ** 20));
  await once(running.child.stdin!, 'drain');
  running.child.kill('SIGTERM');
  expect(await running.exited).toEqual({ code: 130, signal: null });
});
