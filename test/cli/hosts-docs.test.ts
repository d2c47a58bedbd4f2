import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { HOSTS } from '../../src/cli/hosts.ts';
import { VERSION } from '../../src/version.ts';
import { temporaryFolder } from '../support/command-line.ts';
import { programs, root } from '../support/process.ts';

/** The entry of a bridge has the current version. */
const page = readFileSync(`${root}docs/hosts.md`, 'utf8').replaceAll(/everwire@\d+\.\d+\.\d+/g, `everwire@${VERSION}`);

/** The commands of an example, and the file that they write. */
const examples = Array.from(
  page.matchAll(/<!-- install: (\S+) -->\n\n```sh\n([\s\S]*?)```\n\n```(json|toml)\n([\s\S]*?)```/g),
  ([, host, commands, format, file]) => ({ host: host!, commands: commands!, format: format!, file: file! }),
);

/** Runs commands that install servers into the same new file. Returns what the file then has. */
function installed(commands: string): string {
  const folder = temporaryFolder();
  const written = path.join(folder, 'file');
  const everwire = [process.execPath, ...programs.everwire].map((word) => `'${word}'`).join(' ');
  mkdirSync(path.join(folder, 'bin'));
  const script = `#!/bin/sh\nverb=$1\nshift\nexec ${everwire} "$verb" --yes --file '${written}' "$@"\n`;
  writeFileSync(path.join(folder, 'bin', 'everwire'), script, { mode: 0o755 });
  const { status, stderr } = spawnSync('sh', ['-ec', commands], {
    env: { ...process.env, PATH: `${path.join(folder, 'bin')}:${process.env['PATH']}` },
    encoding: 'utf8',
  });
  // The file of a bridge in the examples does not exist here.
  const others = stderr.replace(
    /^everwire: the bridge cannot use \/home\/ada\/.*: there is no such file or folder\n/m,
    '',
  );
  expect({ status, others }).toEqual({ status: 0, others: '' });
  return readFileSync(written, 'utf8');
}

describe.skipIf(process.platform === 'win32')('the page about hosts', () => {
  test('has an example of each host', () => {
    expect([...new Set(examples.map(({ host }) => host))]).toEqual(HOSTS.map(({ name }) => name));
  });

  test('gives a macOS application the whole path of a command', () => {
    const [, commands] = /^```sh\n([\s\S]*?)```/m.exec(readFileSync(`${root}docs/windows-macos.md`, 'utf8'))!;
    const { mcpServers } = JSON.parse(installed(commands!)) as { mcpServers: { files: Record<string, unknown> } };
    expect(mcpServers.files['command']).toMatch(/^\/.*\/npx$/);
    expect(mcpServers.files['env']).toEqual({ PATH: expect.stringContaining(process.env['PATH']!) });
  });

  test.each(examples)('shows what install writes for $host', ({ commands, format, file }) => {
    const text = installed(commands);
    const [found, shown]: unknown[] = format === 'toml' ? [text, file] : [JSON.parse(text), JSON.parse(file)];
    expect(found).toEqual(shown);
  });
});

test('the page about hosts names their files', () => {
  const home = path.join(path.sep, 'home', 'ada');
  const expanded = (text: string): string =>
    text
      .replaceAll('`', '')
      .replace('~', home)
      .replace('%USERPROFILE%', home)
      .replace('%APPDATA%', path.join(home, 'AppData', 'Roaming'))
      .replaceAll(/[/\\]/g, path.sep);
  const rows = Array.from(page.matchAll(/^\| (\w[\w ]*?) +\| `([\w-]+)` +\|(.*)\|$/gm), ([, title, name, cells]) => {
    const [darwin, win32, linux, project] = cells!.split('|').map((cell) => expanded(cell.trim()));
    return { title, name, darwin, win32, linux, project };
  });
  expect(rows).toEqual(
    HOSTS.map(({ title, name, user, project = '' }) => {
      const at = (platform: NodeJS.Platform): string => user({ cwd: home, home, env: {}, platform });
      return { title, name, darwin: at('darwin'), win32: at('win32'), linux: at('linux'), project };
    }),
  );
});
