import { Command, Option } from 'commander';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addClientCommands } from '../client-commands.ts';
import { withDevOptions } from '../dev-options.ts';
import { addInstallCommands } from '../install-commands.ts';
import type { Surroundings } from '../surroundings.ts';
import { FILES, suggest } from './suggest.ts';

let folder: string;
let where: Surroundings;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-suggest-'));
  where = { cwd: folder, home: path.join(folder, 'home'), env: {}, platform: 'linux' };
  mkdirSync(path.join(where.home, '.cursor'), { recursive: true });
  const servers = { weather: { command: 'x' }, 'My mail': {}, 'odd\u001b[31m': { command: 'x' } };
  writeFileSync(path.join(folder, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
  writeFileSync(path.join(where.home, '.cursor', 'mcp.json'), '{ "mcpServers": { "theirs": {} } }');
  writeFileSync(path.join(where.home, '.claude.json'), 'not JSON');
});

afterEach(() => rmSync(folder, { recursive: true }));

function root(): Command {
  const command = new Command('everwire').version('1');
  addClientCommands(command, undefined);
  addInstallCommands(command, undefined);
  withDevOptions(command.command('dev'));
  command
    .command('serve')
    .addOption(new Option('--mode <mode>').choices(['on', 'off']))
    .option('-q, --quiet');
  return command;
}

function words(...typed: string[]): string[] | typeof FILES {
  const found = suggest(root(), typed, where);
  return found === FILES ? FILES : found.map(({ word }) => word);
}

describe('the next word may be', () => {
  test('a command', () => {
    expect(words('li')).toEqual(['list', 'listen']);
    expect(suggest(root(), ['pin'], where)).toEqual([{ word: 'ping', description: 'check whether a server responds' }]);
    expect(words()).toContain('call');
    expect(words('--')).toEqual(['--version', '--help']);
    expect(words('nonsense', '')).toEqual([]);
  });

  test('an option that was not given yet, or that may be repeated', () => {
    expect(words('call', 'x', '--log')).toEqual(['--log-level']);
    expect(words('call', '--log-level', 'info', 'x', '--log')).toEqual([]);
    expect(words('call', '--header', 'a: b', '--head')).toEqual(['--header']);
    expect(words('serve', '-q', '--')).toEqual(['--mode', '--quiet', '--help']);
  });

  test('the value of an option', () => {
    expect(words('serve', '--mode', '')).toEqual(['on', 'off']);
    expect(words('serve', '--mode=o')).toEqual(['--mode=on', '--mode=off']);
    expect(words('serve', '--quiet', '--mode', 'of')).toEqual(['off']);
    expect(words('call', '--config', '')).toBe(FILES);
    expect(words('call', '--config=')).toBe(FILES);
    expect(words('call', '--root', '')).toBe(FILES);
    expect(words('call', '--timeout', '')).toEqual([]);
  });

  test('the name of a server, in the file that --config names', () => {
    expect(words('call', '')).toEqual(['weather', 'My mail', 'theirs']);
    expect(words('ping', '--timeout', '5', 'M')).toEqual(['My mail']);
    const file = path.join(where.home, '.cursor', 'mcp.json');
    expect(words('call', '--config', file, '')).toEqual(['theirs']);
    expect(words('call', `--config=${file}`, '')).toEqual(['theirs']);
    expect(words('call', '--config', 'nowhere.json', '')).toEqual([]);
    expect(words('call', 'weather', '')).toEqual([]);
  });

  test('no name that would be an option or ends a line', () => {
    const servers = {
      '--config=theirs.json': {},
      '-h': {},
      'a\nb': {},
      'a\tb': {},
      'a\u2028b': {},
      'a\u202eb': {},
      ok: {},
    };
    writeFileSync(path.join(folder, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
    expect(words('call', '--config', 'mcp.json', '')).toEqual(['ok']);
    expect(words('call', '--config', 'mcp.json', '--conf')).toEqual([]);
  });

  test('a file that a command serves', () => {
    expect(words('dev', '')).toBe(FILES);
    expect(words('dev', 'server.ts', '')).toEqual([]);
  });

  test('what a command lists', () => {
    expect(words('list', 'weather', 'tools', '')).toEqual(['resources', 'templates', 'prompts']);
  });

  test('a host, and a server in its file', () => {
    expect(words('install', 'cl')).toEqual(['claude', 'claude-code', 'cline']);
    expect(words('uninstall', 'cursor', '')).toEqual(['theirs']);
    expect(words('uninstall', 'nobody', '')).toEqual([]);
  });

  test('a file, after --', () => {
    expect(words('call', 'add', '--', 'no')).toBe(FILES);
  });

  test('empty, also if a shell passes two quotes for that', () => {
    expect(words('serve', '--mode', '""')).toEqual(['on', 'off']);
  });
});
