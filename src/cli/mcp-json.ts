/** The files in which hosts list their servers, and how a name in them becomes a target. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { ConfigError, ConfigFile, type ServerConfig } from '../bridge/config/config.ts';
import { fillWith } from '../bridge/config/variables.ts';
import { suggestion } from '../protocol/nearest.ts';
import { Failure } from './failure.ts';
import { say } from './say.ts';
import type { Target } from './target.ts';

/** Where to look, and what the process knows. */
export interface Surroundings {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
}

export function surroundings(): Surroundings {
  return { cwd: process.cwd(), home: homedir(), env: process.env, platform: process.platform };
}

/** The usual files of hosts: those of the project first, then those of the person. */
export function usualFiles({ cwd, home, env, platform }: Surroundings): string[] {
  const settings =
    platform === 'darwin'
      ? path.join(home, 'Library', 'Application Support')
      : platform === 'win32'
        ? (env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming'))
        : (env['XDG_CONFIG_HOME'] ?? path.join(home, '.config'));
  return [
    ...['mcp.json', '.mcp.json', '.cursor/mcp.json', '.vscode/mcp.json'].map((file) => path.join(cwd, file)),
    ...['.cursor/mcp.json', '.claude.json', '.codeium/windsurf/mcp_config.json', '.gemini/settings.json'].map((file) =>
      path.join(home, file),
    ),
    path.join(settings, 'Claude', 'claude_desktop_config.json'),
    path.join(settings, 'Code', 'User', 'mcp.json'),
  ];
}

/**
 * The server that a name means.
 *
 * @param config the one file to look in. Default: the usual ones, of which the first that has the name counts.
 * @throws Failure with code 2 where there is none, or what is said of it cannot be used.
 */
export function configured(name: string, config: string | undefined, where: Surroundings): Target {
  const known = new Set<string>();
  for (const file of config === undefined ? usualFiles(where) : [path.resolve(where.cwd, config)]) {
    const listed = opened(file, config !== undefined, where);
    const server = listed && usable(() => listed.server(name));
    if (server) return targetOf(server);
    for (const other of listed?.names ?? []) known.add(other);
  }
  const files = config ?? 'mcp.json, or in the files of hosts';
  const others = known.size === 0 ? '' : `; there are ${[...known].join(', ')}`;
  throw Failure.usage(
    `there is no server ${JSON.stringify(name)} in ${files}${suggestion(name, known) || others}. ` +
      'A target is such a name, a URL that begins with http, or a command behind --',
  );
}

/** A file; undefined where it is not there, or is of no use and was not asked for. */
function opened(file: string, wanted: boolean, { env, home }: Surroundings): ConfigFile | undefined {
  if (!wanted && !existsSync(file)) return undefined;
  try {
    const listed = ConfigFile.read(file, { env, home });
    if (listed.names || !wanted) return listed;
    throw new ConfigError(file, ['it has no "mcpServers"']);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (wanted) throw Failure.usage(`cannot use ${error.message}`);
    say(`left out ${error.message}`);
    return undefined;
  }
}

function usable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ConfigError ? Failure.usage(`cannot use ${error.message}`) : error;
  }
}

function targetOf(server: ServerConfig): Target {
  if (server.kind === 'url') {
    const { url, headers, transport } = server;
    return { kind: 'url', url, headers, ...(transport && { transport }) };
  }
  const { kind, command, args, env, cwd, withheld } = server;
  return { kind, command, args, env, ...(cwd !== undefined && { cwd }), ...(withheld && { withheld }) };
}

/** Puts variables of the environment in: `${env:NAME}`, or `${NAME}` as some hosts write it, `${NAME:-default}` too. */
export function fill(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  wrong: (problem: string) => Error,
): string {
  return fillWith({ env })(text, (problem) => {
    throw wrong(problem);
  });
}
