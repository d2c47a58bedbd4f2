import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Capture, recordToFile } from '../../src/inspect/index.ts';
import { runEverwire, temporaryFolder } from '../support/command-line.ts';

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
  const file = path.join(folder, 'session.mcpcap');
  const other = path.join(folder, 'other.mcpcap');
  for (const each of [file, other]) await (await recordToFile(new Capture(), each, { onerror: () => {} })).close();
  const before = readFileSync(file, 'utf8');
  mkdirSync(path.join(folder, 'folder'));
  symlinkSync(file, path.join(folder, 'symbolic.mcpcap'));
  linkSync(file, path.join(folder, 'hard.mcpcap'));
  const names = ['session.mcpcap', 'folder/../session.mcpcap', 'symbolic.mcpcap', 'hard.mcpcap'];
  const given = words.map((word) => (word === 'OTHER' ? other : word));
  const outcomes = await Promise.all(names.map((name) => runEverwire([...given, file, option, `${folder}/${name}`])));
  for (const [index, name] of names.entries()) {
    expect(outcomes[index]).toMatchObject({ code: 2, stdout: '' });
    expect(outcomes[index]!.stderr).toContain(
      `${option}: ${folder}/${name} is a file that this command reads; choose another name`,
    );
  }
  expect(readFileSync(file, 'utf8')).toBe(before);
});

test.each([
  ['--record', (folder: string) => ['check', 'demo', '--config', `${folder}/mcp.json`]],
  ['--out', (folder: string) => ['check', 'demo', '--config', `${folder}/mcp.json`]],
  ['--record', (folder: string) => ['replay', 'demo', `${folder}/x.mcpcap`, '--config', `${folder}/mcp.json`]],
])('%s never replaces the configuration that is read', async (option, words) => {
  const folder = temporaryFolder();
  const text = JSON.stringify({ mcpServers: { demo: { command: 'node', args: ['-e', ''] } } });
  writeFileSync(path.join(folder, 'mcp.json'), text);
  const { code, stderr } = await runEverwire([...words(folder), option, `${folder}/mcp.json`]);
  expect(stderr).toContain('is a file that this command reads; choose another name');
  expect(code).toBe(2);
  expect(readFileSync(path.join(folder, 'mcp.json'), 'utf8')).toBe(text);
});

test('check refuses --record with a recording, because nothing passes', async () => {
  const file = path.join(temporaryFolder(), 'session.mcpcap');
  await (await recordToFile(new Capture(), file, { onerror: () => {} })).close();
  const { code, stderr } = await runEverwire(['check', file, '--record', `${file}.new`]);
  expect(code).toBe(2);
  expect(stderr).toContain('--record cannot be used with a recording');
});
