import path from 'node:path';
import { parseEnv } from 'node:util';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { isHeaderName, isHeaderValue } from '../../protocol/header-syntax.ts';
import { nearest } from '../../protocol/nearest.ts';
import type { ToolSelection } from '../fleet/selection.ts';
import type { Place } from './place.ts';
import { readRegularFile } from './regular-file.ts';
import type { Filler } from './variables.ts';

interface AnyServer {
  readonly name: string;
  readonly tools: ToolSelection;
}

/** A server that is started by a command. */
export interface CommandServer extends AnyServer {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. They may be secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of that environment that this server does not get, because only other entries of the file name them. */
  readonly withheld?: readonly string[];
  /** Default: where this process runs. */
  readonly cwd?: string;
}

/** A server at a URL. */
export interface UrlServer extends AnyServer {
  readonly kind: 'url';
  readonly url: string;
  /** By name, as they are written; they may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The one transport that is to be tried, as the file says (`UrlTarget` of `everwire/client`). Default: found out. */
  readonly transport?: 'http' | 'sse';
}

/** A server of a configuration, with its variables filled in. */
export type ServerConfig = CommandServer | UrlServer;

/** How hosts name the ways to a server. */
const TYPES: Readonly<Record<string, 'stdio' | 'http' | 'sse' | 'remote'>> = {
  stdio: 'stdio',
  local: 'stdio',
  // Of either transport: hosts that write it fall back to HTTP+SSE.
  http: 'remote',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  remote: 'remote',
  sse: 'sse',
};
/** What is read of an entry; hosts have more of their own. */
const KEYS = [
  'command',
  'args',
  'env',
  'envFile',
  'cwd',
  'url',
  'serverUrl',
  'httpUrl',
  'headers',
  'type',
  'disabled',
  'enabled',
  'tools',
];
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Whether an entry says that its server is not to be used. */
export function isDisabled(entry: unknown): boolean {
  return isObject(entry) && (entry['disabled'] === true || entry['enabled'] === false);
}

/**
 * Reads one entry of a file, and fills in its variables. Problems go to `place`.
 *
 * @param file for paths, which start where it lies.
 */
export function readServer(
  name: string,
  entry: unknown,
  file: string,
  place: Place,
  filler: Filler,
): ServerConfig | undefined {
  if (!isObject(entry)) return place.wrong('must be an object');
  warnOfMisspelling(entry, place);
  const tools = readTools(entry['tools'], place.at('tools'));
  const type = readType(entry['type'], place.at('type'));
  const urlKey = ['url', 'serverUrl', 'httpUrl'].find((key) => entry[key] !== undefined);
  const { command } = entry;
  if (command !== undefined && urlKey !== undefined)
    return place.wrong(`has a command and a ${urlKey}; it can have one`);
  if (type === 'stdio' && urlKey !== undefined) return place.at('type').wrong(`says stdio, but there is a ${urlKey}`);
  if (type !== undefined && type !== 'stdio' && command !== undefined)
    return place.at('type').wrong(`says ${type}, but there is a command`);
  if (urlKey !== undefined) {
    const url = readUrl(entry[urlKey], place.at(urlKey), filler);
    const headers = readHeaders(entry['headers'], place.at('headers'), filler);
    if (url === undefined) return undefined;
    // `httpUrl` is how some hosts tell Streamable HTTP from HTTP+SSE.
    const transport = type ?? (urlKey === 'httpUrl' ? 'http' : undefined);
    return {
      kind: 'url',
      name,
      url,
      headers,
      tools,
      ...(transport === 'http' || transport === 'sse' ? { transport } : {}),
    };
  }
  if (command === undefined) {
    return place.wrong(`has neither a command nor a url${hint(entry)}`);
  }
  const filled = (value: string, at: Place): string => filler.fill(value, (problem) => at.wrong(problem));
  const program = place.at('command').text(command);
  const args = entry['args'] === undefined ? [] : place.at('args').texts(entry['args']);
  const env = {
    ...readEnvFile(entry['envFile'], file, place.at('envFile'), filler),
    ...readTexts(entry['env'], place.at('env'), filler),
  };
  const cwd = entry['cwd'] === undefined ? undefined : place.at('cwd').text(entry['cwd']);
  if (program === undefined || args === undefined) return undefined;
  return {
    kind: 'command',
    name,
    command: filled(program, place.at('command')),
    args: args.map((arg, index) => filled(arg, place.at('args').at(index))),
    env,
    ...(cwd === undefined ? {} : { cwd: path.resolve(path.dirname(file), filled(cwd, place.at('cwd'))) }),
    tools,
  };
}

/** What a person may have meant who gave neither a command nor a URL. */
function hint(entry: JsonObject): string {
  for (const key of Object.keys(entry)) {
    const meant = KEYS.includes(key) ? undefined : nearest(key, ['command', 'url']);
    if (meant !== undefined) return ` (did you mean ${JSON.stringify(meant)} where it says ${JSON.stringify(key)}?)`;
  }
  return '';
}

/** Hosts have settings of their own, so only what looks like one of ours is worth a word. */
function warnOfMisspelling(entry: JsonObject, place: Place): void {
  for (const key of Object.keys(entry)) {
    // A word of a few letters is near to too many.
    const meant = KEYS.includes(key) || key.length < 4 ? undefined : nearest(key, KEYS);
    if (meant !== undefined && entry[meant] === undefined)
      place.at(key).warn(`is not known here (did you mean ${JSON.stringify(meant)}?)`);
  }
}

function readType(type: unknown, place: Place): (typeof TYPES)[string] | undefined {
  if (type === undefined) return undefined;
  if (typeof type === 'string' && Object.hasOwn(TYPES, type)) return TYPES[type];
  place.choice(type, ['stdio', 'http', 'streamable-http', 'sse']);
  return undefined;
}

function readUrl(value: unknown, place: Place, filler: Filler): string | undefined {
  const text = place.text(value);
  if (text === undefined) return undefined;
  let complete = true;
  const url = filler.fill(text, (problem) => {
    complete = false;
    place.wrong(problem);
  });
  if (!complete) return undefined;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    return place.wrong('must be a URL that begins with http:// or https://');
  const { username, password } = new URL(url);
  if (username || password) return place.wrong('must hold no credentials; put them into headers');
  return url;
}

function readHeaders(value: unknown, place: Place, filler: Filler): Record<string, string> {
  const headers = readTexts(value, place, filler);
  for (const [name, text] of Object.entries(headers)) {
    if (!isHeaderName(name)) place.at(name).wrong('is no name that a header can have');
    else if (!isHeaderValue(text)) place.at(name).wrong('holds what no header can hold');
  }
  return headers;
}

/** An object of texts; numbers and truth values are taken for texts, as hosts do. */
function readTexts(value: unknown, place: Place, filler: Filler): Record<string, string> {
  const texts: Record<string, string> = {};
  if (value === undefined || value === null) return texts;
  if (!isObject(value)) {
    place.wrong('must be an object of texts');
    return texts;
  }
  for (const [key, text] of Object.entries<unknown>(value)) {
    const at = place.at(key);
    if (!['string', 'number', 'boolean'].includes(typeof text)) at.wrong('must be a text');
    else texts[key] = filler.fill(String(text), (problem) => at.wrong(problem));
  }
  return texts;
}

/** The environment that a file lists (VS Code: `envFile`). */
function readEnvFile(value: unknown, file: string, place: Place, filler: Filler): Record<string, string> {
  if (value === undefined) return {};
  const text = place.text(value);
  if (text === undefined) return {};
  try {
    const found = path.resolve(
      path.dirname(file),
      filler.fill(text, (problem) => place.wrong(problem)),
    );
    return parseEnv(readRegularFile(found).toString('utf8')) as Record<string, string>;
  } catch (error) {
    place.wrong(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'it is no file of variables'}`);
    return {};
  }
}

function readTools(value: unknown, place: Place): ToolSelection {
  if (value === undefined) return {};
  // Some hosts list the tools that they let through.
  if (Array.isArray(value)) {
    const only = place.texts(value);
    return only ? { only } : {};
  }
  if (!isObject(value)) {
    place.wrong('must be an object');
    return {};
  }
  place.only(value, ['hide', 'only', 'rename', 'describe']);
  const list = (key: string): string[] | undefined =>
    value[key] === undefined ? undefined : place.at(key).texts(value[key]);
  const rename = readWords(value['rename'], place.at('rename'));
  const describe = readWords(value['describe'], place.at('describe'));
  const taken = new Map<string, string>();
  for (const [tool, name] of Object.entries(rename ?? {})) {
    const at = place.at('rename').at(tool);
    if (!TOOL_NAME.test(name)) at.wrong('must be 1 to 64 letters, digits and _ - .');
    if (taken.has(name)) at.wrong(`is the name that ${JSON.stringify(taken.get(name))} is given, too`);
    taken.set(name, tool);
  }
  return { hide: list('hide'), only: list('only'), rename, describe };
}

function readWords(value: unknown, place: Place): Record<string, string> | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) return place.wrong('must be an object of texts');
  for (const [key, text] of Object.entries<unknown>(value)) {
    if (typeof text !== 'string') return place.at(key).wrong('must be a text');
  }
  return value;
}
