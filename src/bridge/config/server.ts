import path from 'node:path';
import { parseEnv } from 'node:util';
import { peerUrl } from '../../base/peer-url.ts';
import { fileProblem } from '../../base/file-problem.ts';
import { nearest } from '../../base/nearest.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { isHeaderName, isHeaderValue } from '../../protocol/header-syntax.ts';
import type { ToolSelection } from '../fleet/selection.ts';
import { readOAuth, type OAuthSettings } from './oauth.ts';
import type { Place } from './place.ts';
import { readUtf8File } from '../../base/text-file.ts';
import { hasUnclosedVariable, UNCLOSED } from './variables.ts';

/** The largest configuration file or env file, in bytes. Some hosts store much other data in the first. */
export const MAX_CONFIG_FILE = 32 * 1024 * 1024;

/** A server that is started by a command. */
export interface CommandServer {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. The values may be secrets. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Environment variables of this process that the server does not get, because only other entries of the file name
   * them.
   */
  readonly withheld?: readonly string[];
  /** Default: the folder where this process runs. */
  readonly cwd?: string;
}

/** A server at a URL. */
export interface UrlServer {
  readonly kind: 'url';
  readonly url: string;
  /** By name, as written. The values may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The only transport to try (see `UrlTarget` of `everwire/client`). Default: both. */
  readonly transport?: 'http' | 'sse';
  /** How to log in, if the server requires it. */
  readonly oauth?: OAuthSettings;
}

/** A server of a configuration file, with its variables filled in. */
export type ServerConfig = (CommandServer | UrlServer) & {
  readonly name: string;
  readonly tools: ToolSelection;
  /** Whether all clients of a bridge share one connection to it. Default: as the bridge says for all servers. */
  readonly shared?: boolean;
};

/** The values of `type` that hosts use. */
const TYPES: Readonly<Record<string, 'stdio' | 'http' | 'sse' | 'remote'>> = {
  stdio: 'stdio',
  local: 'stdio',
  // Hosts that write `http` fall back to HTTP+SSE.
  http: 'remote',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  remote: 'remote',
  sse: 'sse',
};
/** The keys of an entry that change what Everwire does. */
const KEYS: ReadonlySet<string> = new Set([
  ...['command', 'args', 'env', 'envFile', 'cwd'],
  ...['url', 'serverUrl', 'httpUrl', 'headers', 'oauth'],
  ...['type', 'tools', 'shared', 'disabled', 'enabled'],
  // Keys of hosts that only resemble these.
  ...['auth', 'disabledTools', 'enabledTools'],
]);
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Whether an entry is disabled. */
export function isDisabled(entry: unknown): boolean {
  return isObject(entry) && (entry['disabled'] === true || entry['enabled'] === false);
}

/**
 * Reads one entry of a file, and fills in its variables. Problems are reported to `place`.
 *
 * @param file relative paths are resolved against its folder.
 */
export function readServer(name: string, entry: unknown, file: string, place: Place): ServerConfig | undefined {
  if (!isObject(entry)) return place.wrong('must be an object');
  place.misspelt(entry, KEYS);
  const tools = readTools(entry['tools'], place.at('tools'));
  const shared = readShared(entry['shared'], place.at('shared'));
  const type = readType(entry['type'], place.at('type'));
  const urlKey = ['url', 'serverUrl', 'httpUrl'].find((key) => entry[key] !== undefined);
  const isCommand = entry['command'] !== undefined;
  if (isCommand && urlKey !== undefined) return place.wrong(`has both a command and a ${urlKey}; remove one`);
  if (!isCommand && urlKey === undefined) {
    const mistyped = Object.keys(entry).find((key) => nearest(key, ['command', 'url']) !== undefined);
    const advice = mistyped === undefined ? '' : ` (is ${JSON.stringify(mistyped)} mistyped?)`;
    return place.wrong(`has neither a command nor a url${advice}`);
  }
  if (type !== undefined && (type === 'stdio') !== isCommand)
    return place.at('type').wrong(`is ${JSON.stringify(entry['type'])}, but there is a ${urlKey ?? 'command'}`);
  if (urlKey === undefined) {
    const server = readCommand(entry, file, place);
    return server && { ...server, name, tools, ...shared };
  }
  const url = readUrl(entry[urlKey], place.at(urlKey));
  const headers = readHeaders(entry['headers'], place.at('headers'));
  const oauth = readOAuth(entry['oauth'], place.at('oauth'));
  // Some hosts write `httpUrl` for Streamable HTTP and `url` for HTTP+SSE.
  const transport = type ?? (urlKey === 'httpUrl' ? 'http' : undefined);
  const only = transport === 'http' || transport === 'sse' ? { transport } : {};
  return url === undefined ? undefined : { kind: 'url', name, url, headers, tools, ...shared, ...only, ...oauth };
}

function readShared(value: unknown, place: Place): { shared?: boolean } {
  if (value === undefined) return {};
  if (typeof value !== 'boolean') place.wrong('must be true or false');
  return { shared: value === true };
}

function readType(type: unknown, place: Place): (typeof TYPES)[string] | undefined {
  if (type === undefined) return undefined;
  if (typeof type === 'string' && Object.hasOwn(TYPES, type)) return TYPES[type];
  place.choice(type, ['stdio', 'http', 'streamable-http', 'sse']);
  return undefined;
}

function readCommand(entry: JsonObject, file: string, place: Place): CommandServer | undefined {
  const fromFolder = (value: string): string => path.resolve(path.dirname(file), value);
  const command = place.at('command').string(entry['command']);
  const args = entry['args'] === undefined ? [] : place.at('args').strings(entry['args']);
  const filledArgs = args?.map((arg, index) => place.at('args', index).filled(arg) ?? '');
  const { envFile } = entry;
  const env = {
    ...(envFile !== undefined && readEnvFile(envFile, fromFolder, place.at('envFile'))),
    ...readStrings(entry['env'], place.at('env')),
  };
  const cwd = entry['cwd'] === undefined ? undefined : place.at('cwd').string(entry['cwd']);
  if (command === undefined || filledArgs === undefined) return undefined;
  return { kind: 'command', command, args: filledArgs, env, ...(cwd !== undefined && { cwd: fromFolder(cwd) }) };
}

function readUrl(value: unknown, place: Place): string | undefined {
  const url = place.string(value);
  const problem = url === undefined ? undefined : urlProblem(url);
  return problem === undefined ? url : place.wrong(problem);
}

/** Returns the reason if a text cannot be the URL of a server. */
export function urlProblem(url: string): string | undefined {
  const parsed = /^https?:\/\//i.test(url) ? peerUrl(url) : undefined;
  if (!parsed) return 'must be a URL that begins with http:// or https://';
  const { username, password } = parsed;
  return username || password ? 'must not contain credentials; send them in a header' : undefined;
}

function readHeaders(value: unknown, place: Place): Record<string, string> {
  const headers = readStrings(value, place);
  for (const [name, text] of Object.entries(headers)) {
    const problem = headerProblem(name, text);
    if (problem !== undefined) place.at(name).wrong(problem);
  }
  return headers;
}

/** Returns the reason if a name and value cannot be a header. */
export function headerProblem(name: string, value: string): string | undefined {
  if (!isHeaderName(name)) return 'is not a valid name of a header';
  return isHeaderValue(value) ? undefined : 'contains characters that a header cannot have';
}

/** An object of strings. Numbers and booleans are converted to strings, as in hosts. */
function readStrings(value: unknown, place: Place): Record<string, string> {
  const strings: Record<string, string> = {};
  if (value === undefined || value === null) return strings;
  if (!isObject(value)) {
    place.wrong('must be an object of strings');
    return strings;
  }
  for (const [key, each] of Object.entries<unknown>(value)) {
    const at = place.at(key);
    if (!['string', 'number', 'boolean'].includes(typeof each)) {
      at.wrong('must be a string');
      continue;
    }
    if (hasUnclosedVariable(String(each))) at.warn(UNCLOSED);
    strings[key] = at.filled(String(each)) ?? '';
  }
  return strings;
}

/** The variables of an env file (VS Code). */
function readEnvFile(value: unknown, fromFolder: (file: string) => string, place: Place): Record<string, string> {
  const file = place.string(value);
  if (file === undefined) return {};
  try {
    return parseEnv(readUtf8File(fromFolder(file), MAX_CONFIG_FILE)) as Record<string, string>;
  } catch (error) {
    place.wrong(`cannot be read: ${fileProblem(error)}`);
    return {};
  }
}

function readTools(value: unknown, place: Place): ToolSelection {
  if (value === undefined) return {};
  // Some hosts use `tools` for a list of the tools that they show.
  if (Array.isArray(value)) {
    const only = place.strings(value);
    return only ? { only } : {};
  }
  if (!isObject(value)) {
    place.wrong('must be an object');
    return {};
  }
  place.only(value, ['hide', 'only', 'rename', 'describe']);
  const list = (key: string): string[] | undefined =>
    value[key] === undefined ? undefined : place.at(key).strings(value[key]);
  const rename = readTexts(value['rename'], place.at('rename'));
  const describe = readTexts(value['describe'], place.at('describe'));
  const taken = new Map<string, string>();
  for (const [tool, name] of Object.entries(rename ?? {})) {
    const at = place.at('rename', tool);
    if (!TOOL_NAME.test(name)) at.wrong('must be 1 to 64 letters, digits and _ - .');
    if (taken.has(name)) at.wrong(`is already the new name of ${JSON.stringify(taken.get(name))}`);
    taken.set(name, tool);
  }
  return { hide: list('hide'), only: list('only'), rename, describe };
}

/** An object of strings, without variables. */
function readTexts(value: unknown, place: Place): Record<string, string> | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) return place.wrong('must be an object of strings');
  for (const [key, text] of Object.entries<unknown>(value)) {
    if (typeof text !== 'string') return place.at(key).wrong('must be a string');
  }
  return value;
}
