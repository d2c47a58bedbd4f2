import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runEverwire, startEverwire } from '../support/command-line.ts';
import { programs, root } from '../support/process.ts';
import { filesShownIn } from '../support/shown.ts';

const page = readFileSync(`${root}docs/cli.md`, 'utf8');
const readme = readFileSync(`${root}README.md`, 'utf8');
const troubleshooting = readFileSync(`${root}docs/troubleshooting.md`, 'utf8');
const inspector = readFileSync(`${root}docs/inspector.md`, 'utf8');
const mock = readFileSync(`${root}docs/mock.md`, 'utf8');
const replay = readFileSync(`${root}docs/replay.md`, 'utf8');

/** The commands on a page, each with its output. */
function examplesIn(text: string): { line: string; output: string }[] {
  return Array.from(text.matchAll(/^```console\n([\s\S]*?)^```/gm), ([, block]) => block!)
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((example) => {
      const end = example.indexOf('\n');
      return { line: example.slice(0, end), output: example.slice(end + 1) };
    });
}

const examples = examplesIn(page);
/** The times and sizes in a list of messages. */
const MEASURED = /^ +\d+\.\d{3}(?=  )|(?<=  \w+) +\d+ bytes(?=  )/gm;

const configuration = /^```json\n([\s\S]*?)^```/m.exec(page)![1]!;

describe.skipIf(process.platform === 'win32')('examples of the command line in the docs', () => {
  let directory: string;

  beforeAll(() => {
    directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'everwire-docs-')));
    writeFileSync(path.join(directory, 'mcp.json'), configuration);
    mkdirSync(path.join(directory, 'bin'));
    const command = [process.execPath, ...programs.everwire].map((word) => `'${word}'`).join(' ');
    writeFileSync(path.join(directory, 'bin/everwire'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  });

  afterAll(() => rmSync(directory, { recursive: true }));

  test('work as described', () => {
    expect(examples.map(({ line }) => line.split(' ')[1])).toEqual(
      expect.arrayContaining(['list', 'call', 'read', 'prompt', 'complete']),
    );
    expect(examplesIn(readme)).not.toEqual([]);
    expect(examplesIn(troubleshooting)).not.toEqual([]);
    expect(examplesIn(mock)).not.toEqual([]);
    expect(examplesIn(replay)).not.toEqual([]);
    expect(examplesIn(inspector)).not.toEqual([]);
  });

  test.each([readme, troubleshooting, mock, replay, inspector].flatMap(examplesIn).concat(examples))(
    '$line',
    ({ line, output }) => {
      const { stdout, stderr } = spawnSync('sh', ['-c', line], {
        cwd: directory,
        env: { ...process.env, PATH: `${path.join(directory, 'bin')}:${process.env['PATH']}` },
        encoding: 'utf8',
        timeout: 20_000,
      });
      const printed = (stdout + stderr).replaceAll(directory, '/home/ada/project');
      expect(printed.replaceAll(MEASURED, '')).toBe(output.replaceAll(MEASURED, ''));
    },
  );
});

test('docs/mock.md shows how to serve over HTTP', async () => {
  const [serve, call] = [...mock.matchAll(/^```sh\neverwire (.*)\n```/gm)].map(([, line]) => line!.split(' '));
  const file = `${root}examples/mock/add.mcpcap`;
  const server = startEverwire([...serve!.map((word) => (word === 'add.mcpcap' ? file : word)), '--port', '0']);
  const [, url] = await server.line(/listening on (\S+)/);
  const [command, address, ...rest] = call!;
  expect([command, address]).toEqual(['call', url!.replace(/:\d+/, ':8000')]);
  expect(await runEverwire([command!, url!, ...rest])).toMatchObject({ code: 0, stdout: '5' });
  expect(await server.stop()).toEqual({ code: 0, signal: null });
});

test('docs/mock.md shows a test that runs', () => {
  const [file] = filesShownIn('docs/mock.md');
  expect(file!.shown).toBe(file!.actual);
});
