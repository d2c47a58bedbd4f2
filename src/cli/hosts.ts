/** The MCP hosts whose configuration files Everwire reads and writes: where these are, and what an entry looks like. */
import path from 'node:path';
import type { JsonObject } from '../jsonrpc/message.ts';
import { Failure } from './failure.ts';
import type { Surroundings } from './surroundings.ts';

/** An MCP host, and the configuration file that it reads. */
export interface Host {
  /** For the command line. */
  readonly name: string;
  readonly title: string;
  readonly format: 'json' | 'toml';
  /** The key of the object that lists the servers. */
  readonly key: 'mcpServers' | 'servers' | 'context_servers' | 'mcp_servers';
  /** The user's own file. */
  readonly user: (where: Surroundings) => string;
  /** The file in a project's folder, if the host reads one. With forward slashes. */
  readonly project?: string;
  /** The `type` of an entry with a command, if it needs one. */
  readonly commandType?: 'stdio';
  /** The entry for a server at a URL. Undefined if the host can only start commands. */
  readonly url?: (url: string) => JsonObject;
  /** The part of such an entry with the headers, as given. Default: `headers`, with variables as `variable` writes them. */
  readonly headers?: (headers: Readonly<Record<string, string>>) => JsonObject;
  /** How the host's file names an environment variable of the host. Undefined if it cannot. */
  readonly variable?: (name: string) => string;
  /** Whether the host cannot start scripts such as `npx` on Windows, but only programs. */
  readonly needsCmd?: true;
}

/** `${env:NAME}`, or `${NAME}`, with an optional default, as in `--header`. */
export const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(:-[^}]*)?\}/g;

const asEnv = (name: string): string => `\${env:${name}}`;
const asShell = (name: string): string => `\${${name}}`;

export const HOSTS: readonly Host[] = [
  {
    name: 'claude',
    title: 'Claude Desktop',
    format: 'json',
    key: 'mcpServers',
    user: (where) => path.join(appData(where), 'Claude', 'claude_desktop_config.json'),
  },
  {
    name: 'claude-code',
    title: 'Claude Code',
    format: 'json',
    key: 'mcpServers',
    user: ({ home, env }) => path.join(env['CLAUDE_CONFIG_DIR'] || home, '.claude.json'),
    project: '.mcp.json',
    commandType: 'stdio',
    url: (url) => ({ type: 'http', url }),
    variable: asShell,
    needsCmd: true,
  },
  {
    name: 'cursor',
    title: 'Cursor',
    format: 'json',
    key: 'mcpServers',
    user: ({ home }) => path.join(home, '.cursor', 'mcp.json'),
    project: '.cursor/mcp.json',
    url: (url) => ({ url }),
    variable: asEnv,
  },
  {
    name: 'vscode',
    title: 'VS Code',
    format: 'json',
    key: 'servers',
    user: (where) => path.join(appData(where), 'Code', 'User', 'mcp.json'),
    project: '.vscode/mcp.json',
    commandType: 'stdio',
    url: (url) => ({ type: 'http', url }),
    variable: asEnv,
  },
  {
    name: 'windsurf',
    title: 'Windsurf',
    format: 'json',
    key: 'mcpServers',
    user: ({ home }) => path.join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    url: (serverUrl) => ({ serverUrl }),
    variable: asEnv,
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    format: 'json',
    key: 'mcpServers',
    user: ({ home }) => path.join(home, '.gemini', 'settings.json'),
    project: '.gemini/settings.json',
    // `url` would mean HTTP+SSE.
    url: (httpUrl) => ({ httpUrl }),
    variable: asShell,
  },
  {
    name: 'codex',
    title: 'Codex',
    format: 'toml',
    key: 'mcp_servers',
    user: ({ home, env }) => path.join(env['CODEX_HOME'] || path.join(home, '.codex'), 'config.toml'),
    project: '.codex/config.toml',
    url: (url) => ({ url }),
    headers: codexHeaders,
  },
  {
    name: 'zed',
    title: 'Zed',
    format: 'json',
    key: 'context_servers',
    user: (where) =>
      where.platform === 'win32'
        ? path.join(appData(where), 'Zed', 'settings.json')
        : path.join(configHome(where), 'zed', 'settings.json'),
    project: '.zed/settings.json',
    url: (url) => ({ url }),
  },
  {
    name: 'cline',
    title: 'Cline',
    format: 'json',
    key: 'mcpServers',
    user: ({ home }) => path.join(home, '.cline', 'data', 'settings', 'cline_mcp_settings.json'),
    // Without a type, a URL would mean HTTP+SSE.
    url: (url) => ({ type: 'streamableHttp', url }),
  },
];

/** The folder where desktop applications keep their settings. */
function appData(where: Surroundings): string {
  const { home, env, platform } = where;
  if (platform === 'darwin') return path.join(home, 'Library', 'Application Support');
  if (platform === 'win32') return env['APPDATA'] || path.join(home, 'AppData', 'Roaming');
  return configHome(where);
}

/** On macOS, programs that follow the XDG rules use `~/.config` nevertheless. */
function configHome({ home, env, platform }: Surroundings): string {
  return (platform === 'darwin' ? '' : env['XDG_CONFIG_HOME']) || path.join(home, '.config');
}

/** Codex takes a variable only as a whole header, or as the token after `Bearer`. */
function codexHeaders(headers: Readonly<Record<string, string>>): JsonObject {
  const token: JsonObject = {};
  const fixed: Record<string, string> = {};
  const fromEnv: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const [, scheme, variable] = /^(Bearer )?\$\{(?:env:)?([A-Za-z_]\w*)\}$/.exec(value) ?? [];
    if (variable !== undefined && scheme === undefined) fromEnv[name] = variable;
    else if (variable !== undefined && name.toLowerCase() === 'authorization') token['bearer_token_env_var'] = variable;
    else if (value.search(VARIABLE) < 0) fixed[name] = value;
    else {
      throw Failure.usage(
        `Codex fills in a variable only as the whole value of --header ${name}, or after Bearer in Authorization`,
      );
    }
  }
  return {
    ...token,
    ...(Object.keys(fixed).length > 0 && { http_headers: fixed }),
    ...(Object.keys(fromEnv).length > 0 && { env_http_headers: fromEnv }),
  };
}
