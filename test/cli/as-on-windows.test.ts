import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  descendants,
  eventually,
  isAlive,
  programs,
  root,
  startNode,
  type RunningProcess,
} from '../support/process.ts';

/**
 * The command line takes this system for Windows. Its PATH has one folder, with a `cmd.exe` that finds commands as that of
 * Windows does. Its system folder has a `taskkill`. Both write what they were given.
 */
const CMD = `#!${process.execPath}
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
// cmd.exe /d /s /c "<line>": a caret makes the next character an ordinary one.
const line = process.argv[5].slice(1, -1).replaceAll(/\\^(.)/g, '$1');
const [name, ...args] = [...line.matchAll(/"([^"]*)"|(\\S+)/g)].map(([, quoted, word]) => quoted ?? word);
const script = __dirname + '/' + name + '.cmd';
if (!existsSync(script)) {
  console.error("'" + name + "' is not recognized as an internal or external command");
  process.exit(1);
}
process.exit(spawnSync('/bin/sh', [script, ...args], { stdio: 'inherit' }).status ?? 1);
`;
const TASKKILL = `#!${process.execPath}
const { execFileSync } = require('node:child_process');
const { appendFileSync } = require('node:fs');
const args = process.argv.slice(2);
appendFileSync(__dirname + '/taskkill.log', args.join(' ') + '\\n');
const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } });
const parents = rows.trim().split('\\n').map((row) => row.trim().split(/\\s+/).map(Number));
const tree = [Number(args[1])];
for (const pid of tree) tree.push(...parents.filter(([, parent]) => parent === pid).map(([child]) => child));
for (const pid of tree) process.kill(pid, 'SIGKILL');
`;
const SERVER = `'${process.execPath}' '${programs.features[0]}' --stdio`;
const SILENT = 'echo silent >&2\nexec /bin/sleep 600\n';

let folder: string;
let running: RunningProcess[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-windows-'));
  running = [];
  write('cmd.exe', CMD);
  write(String.raw`root\System32\taskkill.exe`, TASKKILL);
});

afterEach(async () => {
  await Promise.all(running.map((each) => each.stop(0)));
  rmSync(folder, { recursive: true });
});

const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text, { mode: 0o755 });
const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');

function everwire(...args: string[]): RunningProcess {
  const env = {
    PATH: folder,
    comspec: path.join(folder, 'cmd.exe'),
    LOCALAPPDATA: folder,
    SystemRoot: path.join(folder, 'root'),
  };
  const preload = ['--import', `${root}test/fixtures/as-on-windows.mjs`];
  const child = startNode([...preload, ...programs.everwire, ...args], env, folder);
  running.push(child);
  return child;
}

describe.skipIf(process.platform !== 'linux')('as on Windows', () => {
  test('a script such as npx.cmd is started with cmd.exe, and gets its arguments as they are', async () => {
    write('server.cmd', `printf '%s\\n' "$@" > '${folder}/arguments'\nexec ${SERVER}\n`);
    const words = ['-y', 'two words', 'a&calc', '50%', '^', '<x>|(y)!', 'https://a.example/?a=1&b=%20'];
    const child = everwire('call', 'add', 'a=2', 'b=40', '--', 'server', ...words);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout).toEqual(['42']);
    expect(read('arguments').trimEnd().split('\n')).toEqual(words);
  });

  test('a command that does not end is ended by taskkill, with its descendants', async () => {
    write('server.cmd', `${SERVER}\necho $$ > '${folder}/pid'\nexec /bin/sleep 600\n`);
    const child = everwire('call', 'add', 'a=2', 'b=40', '--', 'server');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(read('taskkill.log')).toMatch(/^\/pid \d+ \/T \/F\n$/);
    await eventually(() => !isAlive(Number(read('pid'))), 'the end of the server');
  });

  test('a second Ctrl-C ends the command with this process', async () => {
    write('server.cmd', SILENT);
    const child = everwire('call', 'add', '--', 'server');
    await child.line(/^silent$/);
    const below = descendants(child.pid);
    expect(below.length).toBeGreaterThanOrEqual(2);
    child.child.kill('SIGINT');
    child.child.kill('SIGINT');
    await child.exited;
    await eventually(() => below.every((pid) => !isAlive(pid)), 'the end of the server');
  });

  test.each([
    ['call', ['call', 'add', '--', 'missing']],
    ['inspect --through', ['inspect', '--through', '--', 'missing']],
  ])('%s says that a command is missing', async (_, args) => {
    const child = everwire(...args);
    const { code } = await child.exited;
    expect(code).toBeGreaterThan(0);
    const said = child.stderr.join('\n');
    expect(said).toContain('command not found in any folder of PATH');
    expect(said).not.toContain('node:internal');
  });

  test('--max-memory says that it is not enforced', async () => {
    write('server.cmd', `exec ${SERVER}\n`);
    const child = everwire('bridge', '--port', '0', '--shared', '--max-memory', '100', '--', 'server');
    await child.line(/memory of .* is not limited: The processes of a group cannot be listed on Windows/);
  });
});
