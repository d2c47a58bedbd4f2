import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';
import { programs, startNode } from '../support/process.ts';

const REFUSAL = 'is a file that this command uses for something else; choose another name';

/** Makes a recording in a folder. */
async function recordingIn(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  await (await recordToFile(new Capture(), file, { onerror: () => {} })).close();
  return file;
}

/** Commands that read a recording and write a file. */
const COMMANDS: readonly [string, string[]][] = [
  ['--record', ['replay', 'http://127.0.0.1:1/mcp']],
  ['--out', ['replay', 'http://127.0.0.1:1/mcp']],
  ['--record', ['mock', '--stdio']],
  ['--out', ['compare', 'OTHER']],
  ['--out', ['export', '--as', 'vitest']],
  ['--out', ['check']],
];

test.each(COMMANDS)('%s of %j never replaces the recording that is read', async (option, words) => {
  const folder = temporaryFolder();
  const file = await recordingIn(folder, 'session.mcpcap');
  const other = await recordingIn(folder, 'other.mcpcap');
  const before = readFileSync(file, 'utf8');
  mkdirSync(path.join(folder, 'folder'));
  symlinkSync(file, path.join(folder, 'symbolic.mcpcap'));
  linkSync(file, path.join(folder, 'hard.mcpcap'));
  const names = ['session.mcpcap', 'folder/../session.mcpcap', 'symbolic.mcpcap', 'hard.mcpcap'];
  const given = words.map((word) => (word === 'OTHER' ? other : word));
  const outcomes = await Promise.all(names.map((name) => runEverwire([...given, file, option, `${folder}/${name}`])));
  for (const [index, name] of names.entries()) {
    expect(outcomes[index]).toMatchObject({ code: 2, stdout: '' });
    expect(outcomes[index]!.stderr).toContain(`${option}: ${folder}/${name} ${REFUSAL}`);
  }
  expect(readFileSync(file, 'utf8')).toBe(before);
});

const CLIENTS = ['list', 'call', 'read', 'prompt', 'complete', 'listen', 'ping', 'discover'];
/** The option that would replace FILE, and a command that uses it. */
const USES: readonly (readonly [option: string, words: string])[] = [
  ...CLIENTS.flatMap((name) => [
    ['--record', `${name} demo --config FILE`] as const,
    ['--record', `${name} http://127.0.0.1:1/mcp --answers @FILE`] as const,
  ]),
  ['--record', 'call http://127.0.0.1:1/mcp add --args-json @FILE'],
  ...['call', 'read', 'prompt'].flatMap((name) => [
    ['--output', `${name} demo --config FILE`] as const,
    ['--output', `${name} http://127.0.0.1:1/mcp --answers @FILE`] as const,
    ['--output', `${name} http://127.0.0.1:1/mcp --record FILE`] as const,
  ]),
  ['--output', 'call http://127.0.0.1:1/mcp add --args-json @FILE'],
  ['--saved', 'inspect demo --no-open --port 0 --config FILE'],
  ['--saved', 'inspect --no-open --port 0 --config FILE'],
  ['--record', 'inspect demo --no-open --port 0 --config FILE'],
  ['--record', 'inspect --no-open --port 0 --config FILE'],
  ['--record', 'inspect http://127.0.0.1:1/mcp --no-open --port 0 --saved FILE'],
  ['--record', 'bridge --stdio --config FILE'],
  ['--record', 'bridge http://127.0.0.1:1/mcp --port 0 --bearer @FILE'],
  ['--record', 'bridge http://127.0.0.1:1/mcp --port 0 --tls-cert FILE --tls-key FILE'],
  ['--record', 'demo --port 0 --state-key @FILE'],
  ['--record', 'dev FILE --stdio'],
  ...['--record', '--out'].flatMap((option) => [
    [option, 'check demo --config FILE'] as const,
    [option, 'check http://127.0.0.1:1/mcp --call tool=FILE'] as const,
    [option, 'check http://127.0.0.1:1/mcp --answers @FILE'] as const,
    [option, 'replay demo RECORDING --config FILE'] as const,
  ]),
  // Which of both comes last would be kept.
  ['--out', 'check http://127.0.0.1:1/mcp --record FILE'],
  ['--out', 'replay http://127.0.0.1:1/mcp RECORDING --record FILE'],
];

test.each(USES)('%s never replaces a file of %s', async (option, words) => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'file.json');
  const text = JSON.stringify({ mcpServers: { demo: { command: 'node', args: ['-e', ''] } } });
  writeFileSync(file, text);
  const recording = words.includes('RECORDING') ? await recordingIn(folder, 'session.mcpcap') : '';
  const given = words.split(' ').map((word) => word.replace('FILE', file).replace('RECORDING', recording));
  const child = startEverwire([...given, option, file]);
  child.child.stdin!.end();
  await child.line(new RegExp(REFUSAL));
  expect((await child.exited).code).toBe(2);
  expect(child.stderr).toEqual([`everwire: ${option}: ${file} ${REFUSAL}`]);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('--record and --out cannot be the same new file', async () => {
  const file = path.join(temporaryFolder(), 'new.txt');
  const { code, stderr } = await runEverwire(['check', 'http://127.0.0.1:1/mcp', '--record', file, '--out', file]);
  expect(stderr).toBe(`everwire: --out: ${file} ${REFUSAL}`);
  expect(code).toBe(2);
});

test.each(['list demo', 'inspect --no-open --port 0'])('--record of "%s" never replaces mcp.json', async (words) => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'mcp.json');
  writeFileSync(file, '{ "mcpServers": {} }');
  const child = startNode([...programs.everwire, ...words.split(' '), '--record', 'mcp.json'], {}, folder);
  onTestFinished(async () => void (await child.stop()));
  await child.line(new RegExp(REFUSAL));
  expect(readFileSync(file, 'utf8')).toBe('{ "mcpServers": {} }');
});

test.each(['inspect http://127.0.0.1:1/mcp', 'inspect'])(
  '--record of "%s" never replaces saved calls',
  async (words) => {
    const folder = temporaryFolder();
    const file = path.join(folder, '.everwire/saved.json');
    mkdirSync(path.dirname(file));
    const given = [...programs.everwire, ...words.split(' '), '--no-open', '--port', '0', '--record', file];
    const refuses = async (): Promise<void> => {
      const child = startNode(given, {}, folder);
      onTestFinished(async () => void (await child.stop()));
      await child.line(new RegExp(`--record: .* ${REFUSAL}`));
      expect((await child.exited).code).toBe(2);
    };
    // Also if nothing is saved yet.
    await refuses();
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, '{ "calls": {} }');
    await refuses();
    expect(readFileSync(file, 'utf8')).toBe('{ "calls": {} }');
  },
);

test('--output - is stdout, also if there is a file with this name', async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, '-'), '{}');
  const words = 'read http://127.0.0.1:1/mcp a:b --answers @- --output -'.split(' ');
  const child = startNode([...programs.everwire, ...words], {}, folder);
  onTestFinished(async () => void (await child.stop()));
  expect((await child.exited).code).toBe(3);
});

test('every command with an option for a file to write is tested', async () => {
  const { stdout } = await runEverwire(['--help']);
  const names = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!).filter((name) => name !== 'help');
  expect(names).toContain('bridge');
  const written = await Promise.all(
    names.map(async (name) => {
      const { stdout: help } = await runEverwire([name, '--help']);
      return ['--record', '--out', '--output', '--saved']
        .filter((option) => help.includes(`${option} <file>`))
        .map((option) => `${name} ${option}`);
    }),
  );
  const tested = [...COMMANDS, ...USES].map(([option, words]) => `${words.toString().split(/[ ,]/)[0]!} ${option}`);
  expect(new Set(tested)).toEqual(new Set(written.flat()));
});

test('check refuses --record with a recording, because nothing passes', async () => {
  const file = await recordingIn(temporaryFolder(), 'session.mcpcap');
  const { code, stderr } = await runEverwire(['check', file, '--record', `${file}.new`]);
  expect(code).toBe(2);
  expect(stderr).toContain('--record cannot be used with a recording');
});
