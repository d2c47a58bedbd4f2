import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
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
