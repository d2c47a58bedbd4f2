/** The files in which hosts list their servers, and how a name in them becomes a target. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Failure } from './failure.ts';
import { suggestion } from '../protocol/nearest.ts';
import { say } from './say.ts';
import type { CommandTarget, Target, UrlTarget } from './target.ts';

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
    const servers = serversOf(file, config !== undefined);
    if (servers && Object.hasOwn(servers, name)) return targetOf(name, servers[name], file, where);
    for (const other of Object.keys(servers ?? {})) known.add(other);
  }
  const files = config ?? 'mcp.json, or in the files of hosts';
  const others = known.size === 0 ? '' : `; there are ${[...known].join(', ')}`;
  throw Failure.usage(
    `there is no server ${JSON.stringify(name)} in ${files}${suggestion(name, known) || others}. ` +
      'A target is such a name, a URL that begins with http, or a command behind --',
  );
}

/** What a file lists; undefined where it is not there, or is of no use and was not asked for. */
function serversOf(file: string, wanted: boolean): JsonObject | undefined {
  let problem: string;
  try {
    const json: unknown = JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
    // VS Code calls them `servers`.
    const servers: unknown = isObject(json) ? (json['mcpServers'] ?? json['servers']) : undefined;
    if (isObject(servers)) return servers;
    if (!wanted) return undefined;
    problem = 'it has no "mcpServers"';
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      if (!wanted) return undefined;
      problem = 'there is no such file';
    } else {
      // What `JSON.parse` says quotes the file, and there may be secrets in it.
      problem = error instanceof SyntaxError ? 'it is no JSON' : message;
    }
  }
  if (wanted) throw Failure.usage(`cannot use ${file}: ${problem}`);
  say(`left out ${file}: ${problem}`);
  return undefined;
}

function targetOf(name: string, entry: unknown, file: string, { env }: Surroundings): Target {
  const wrong = (problem: string): Failure => Failure.usage(`the server ${JSON.stringify(name)} in ${file} ${problem}`);
  const filled = (text: string): string => fill(text, env, wrong);
  const strings = (value: unknown, key: string): Record<string, string> => {
    if (value === undefined) return {};
    if (!isObject(value)) throw wrong(`has ${key} that are no object`);
    return Object.fromEntries(
      Object.entries(value).map(([each, text]) => {
        if (!['string', 'number', 'boolean'].includes(typeof text))
          throw wrong(`has ${key} of which ${each} is no text`);
        return [each, filled(String(text))];
      }),
    );
  };
  if (!isObject(entry)) throw wrong('is no object');
  const { command, args = [], cwd, url = entry['serverUrl'] ?? entry['httpUrl'] } = entry;
  if (typeof url === 'string') {
    const target: UrlTarget = { kind: 'url', url: filled(url), headers: strings(entry['headers'], 'headers') };
    if (!/^https?:\/\//i.test(target.url) || !URL.canParse(target.url)) throw wrong('has a url that is none of HTTP');
    return target;
  }
  if (typeof command !== 'string' || command === '') throw wrong('has neither a command nor a url');
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) throw wrong('has args that are no texts');
  if (cwd !== undefined && typeof cwd !== 'string') throw wrong('has a cwd that is no text');
  const target: CommandTarget = {
    kind: 'command',
    command: filled(command),
    args: args.map(filled),
    env: strings(entry['env'], 'env'),
  };
  return cwd === undefined ? target : { ...target, cwd: path.resolve(path.dirname(file), filled(cwd)) };
}

/** Puts variables of the environment in: `${env:NAME}`, or `${NAME}` as some hosts write it, `${NAME:-default}` too. */
export function fill(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  wrong: (problem: string) => Error,
): string {
  return text.replace(
    /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
    (_, name: string, otherwise: string | undefined) => {
      const value = env[name] ?? otherwise;
      if (value === undefined) throw wrong(`needs the environment variable ${name}, which is not set`);
      return value;
    },
  );
}
