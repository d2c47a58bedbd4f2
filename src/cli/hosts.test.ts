import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { HOSTS } from './hosts.ts';
import type { Surroundings } from './surroundings.ts';

const home = path.join(path.sep, 'home', 'ada');

function files(platform: NodeJS.Platform, env: Surroundings['env'] = {}): Record<string, string> {
  const where = { cwd: path.join(home, 'project'), home, env, platform };
  return Object.fromEntries(
    HOSTS.map(({ name, user }) => [name, path.relative(home, user(where)).replaceAll('\\', '/')]),
  );
}

/** The files that are in the same place everywhere. */
const everywhere = {
  'claude-code': '.claude.json',
  cursor: '.cursor/mcp.json',
  windsurf: '.codeium/windsurf/mcp_config.json',
  gemini: '.gemini/settings.json',
  codex: '.codex/config.toml',
  cline: '.cline/data/settings/cline_mcp_settings.json',
};

describe('the files of hosts', () => {
  test('on macOS', () => {
    expect(files('darwin', { XDG_CONFIG_HOME: '/elsewhere' })).toEqual({
      ...everywhere,
      claude: 'Library/Application Support/Claude/claude_desktop_config.json',
      vscode: 'Library/Application Support/Code/User/mcp.json',
      zed: '.config/zed/settings.json',
    });
  });

  test('on Windows', () => {
    const expected = {
      ...everywhere,
      claude: 'AppData/Roaming/Claude/claude_desktop_config.json',
      vscode: 'AppData/Roaming/Code/User/mcp.json',
      zed: 'AppData/Roaming/Zed/settings.json',
    };
    expect(files('win32')).toEqual(expected);
    expect(files('win32', { APPDATA: path.join(home, 'AppData', 'Roaming') })).toEqual(expected);
  });

  test('on Linux', () => {
    expect(files('linux')).toEqual({
      ...everywhere,
      claude: '.config/Claude/claude_desktop_config.json',
      vscode: '.config/Code/User/mcp.json',
      zed: '.config/zed/settings.json',
    });
    expect(files('linux', { XDG_CONFIG_HOME: path.join(home, 'config') })).toMatchObject({
      claude: 'config/Claude/claude_desktop_config.json',
      vscode: 'config/Code/User/mcp.json',
      zed: 'config/zed/settings.json',
    });
  });

  test('may be moved by variables that the hosts read', () => {
    const env = { CLAUDE_CONFIG_DIR: path.join(home, 'claude'), CODEX_HOME: path.join(home, 'codex') };
    expect(files('linux', env)).toMatchObject({ 'claude-code': 'claude/.claude.json', codex: 'codex/config.toml' });
  });
});
