/** Finds a server by name in the configuration files of MCP hosts. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, ConfigFile, type ServerConfig } from '../bridge/config/config.ts';
import { suggestion } from '../base/nearest.ts';
import { Failure } from './failure.ts';
import { HOSTS } from './hosts.ts';
import { printStatus } from './print-status.ts';
import type { Surroundings } from './surroundings.ts';
import type { Target } from './target.ts';

/** A file that may list servers. */
export interface HostFile {
  readonly file: string;
  /** The name of the file in the project, or the host whose file it is. */
  readonly source: string;
}

/**
 * The usual files of hosts: first the project's, then the user's. Only those in JSON: a bridge reads the same format.
 */
export function usualFiles(where: Surroundings): HostFile[] {
  const hosts = HOSTS.filter(({ format }) => format === 'json');
  const projects = ['mcp.json', ...hosts.flatMap(({ project }) => project ?? [])];
  return [
    ...projects.map((source) => ({ file: path.join(where.cwd, source), source })),
    ...hosts.map(({ title, user }) => ({ file: user(where), source: title })),
  ];
}

/** The files to look in. @param config the only one, if the user named it. */
function filesFor(config: string | undefined, where: Surroundings): HostFile[] {
  return config === undefined ? usualFiles(where) : [{ file: path.resolve(where.cwd, config), source: config }];
}

/**
 * Finds the server with this name.
 *
 * @param config the only file to look in. Default: the first of the usual files that has the name.
 * @throws Failure with code 2 if there is none, or its entry cannot be used.
 */
export function configured(name: string, config: string | undefined, where: Surroundings): Target {
  const known = new Set<string>();
  for (const { file } of filesFor(config, where)) {
    const listed = opened(file, config !== undefined, where);
    const server = listed && usable('cannot use', () => listed.server(name));
    for (const warning of listed?.warnings ?? []) printStatus(`${file}: ${warning}`);
    if (server) return { ...targetOf(server), name };
    for (const other of listed?.names ?? []) known.add(other);
  }
  const files = config ?? 'mcp.json, or in the files of hosts';
  const others = known.size === 0 ? '' : `; there are ${[...known].join(', ')}`;
  throw Failure.usage(
    `there is no server ${JSON.stringify(name)} in ${files}${suggestion(name, known) || others}\n` +
      'a target is such a name, a URL that begins with http, or -- and a command',
  );
}

/**
 * The names of all servers, without a look at their entries. Files that cannot be used are left out.
 *
 * @param config the only file to look in. Default: the usual files.
 */
export function namesIn(config: string | undefined, where: Surroundings): { name: string; source: string }[] {
  return filesFor(config, where).flatMap(({ file, source }) => {
    try {
      return (ConfigFile.read(file, where).names ?? []).map((name) => ({ name, source }));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return [];
    }
  });
}

/** A server that a file lists. */
export interface ListedServer {
  readonly name: string;
  readonly source: string;
  readonly target: Target;
}

/**
 * All servers that can be used. What cannot be used is reported and left out.
 *
 * @param config the only file to look in. Default: the usual files.
 * @throws Failure with code 2 if this file cannot be used.
 */
export function listedServers(config: string | undefined, where: Surroundings): ListedServer[] {
  return filesFor(config, where).flatMap(({ file, source }) => {
    const listed = opened(file, config !== undefined, where);
    return (listed?.names ?? []).flatMap((name) => {
      try {
        const target = targetOf(listed!.server(name)!);
        for (const warning of listed!.warnings) printStatus(`${file}: ${warning}`);
        return { name, source, target };
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        printStatus(`ignored ${error.message}`);
        return [];
      }
    });
  });
}

function targetOf({ name: _name, tools: _tools, ...target }: ServerConfig): Target {
  return target;
}

/** Reads a file. Undefined if it does not exist, or if it cannot be used and the user did not name it. */
function opened(file: string, wanted: boolean, { env, home }: Surroundings): ConfigFile | undefined {
  if (!wanted && !existsSync(file)) return undefined;
  try {
    const listed = ConfigFile.read(file, { env, home });
    if (listed.names || !wanted) return listed;
    throw new ConfigError(file, ['the file has no "mcpServers"']);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (wanted) throw Failure.usage(`cannot use ${error.message}`);
    printStatus(`ignored ${error.message}`);
    return undefined;
  }
}

/** @param context begins the message. @throws Failure with code 2 if a configuration file cannot be used. */
export function usable<T>(context: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ConfigError ? Failure.usage(`${context} ${error.message}`) : error;
  }
}
