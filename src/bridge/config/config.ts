import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { JsonProblem, parseConfigJson } from './json.ts';
import { ConfigError, Place, type Findings } from './place.ts';
import { readRegularFile } from './regular-file.ts';
import { isDisabled, readServer, type ServerConfig } from './server.ts';
import { Filler, variablesOf, type Input, type ConfigVariables } from './variables.ts';

export { ConfigError } from './place.ts';
export type { CommandServer, ServerConfig, UrlServer } from './server.ts';
export type { ConfigVariables } from './variables.ts';

/** A file of servers, as hosts have them. */
export interface FleetConfig {
  readonly file: string;
  /** Those that are to be used, in the order of the file. */
  readonly servers: readonly ServerConfig[];
  /** When a name gets its server's before it: where two servers have it, or always. Default `clash`. */
  readonly names: 'clash' | 'always';
  /** What stands between the two. Default `__`. */
  readonly separator: string;
  /** What the author of the file may not have meant. */
  readonly warnings: readonly string[];
}

const MAX_SERVERS = 500;
const MAX_SERVER_NAME = 100;
/** The letters of a separator are none of a hash, so that a name can be taken apart. */
export const SEPARATOR = /^[_.-]{1,4}$/;

/**
 * Reads a file of servers: `mcpServers` (Claude, Cursor and others), or `servers` with `inputs` (VS Code).
 *
 * @throws ConfigError with all that is wrong in it.
 */
export function readConfig(file: string, variables: ConfigVariables = {}): FleetConfig {
  return ConfigFile.read(file, variables).fleet();
}

/** As `readConfig`, of a text that was read already. */
export function parseConfig(text: string, file: string, variables: ConfigVariables = {}): FleetConfig {
  return new ConfigFile(text, file, variables).fleet();
}

/** A file of servers, of which each entry is looked at when it is wanted. */
export class ConfigFile {
  readonly file: string;
  /** The entries, by name; undefined where the file has no place for any. */
  readonly #entries: JsonObject | undefined;
  readonly #section: string;
  readonly #settings: unknown;
  readonly #filler: Filler;
  /** The variables that each entry names, by the name of the entry. */
  readonly #variablesOf = new Map<string, ReadonlySet<string>>();

  /** @throws ConfigError where it cannot be read, or is no JSON. */
  static read(file: string, variables: ConfigVariables = {}): ConfigFile {
    return new ConfigFile(textOf(file), file, variables);
  }

  /** @throws ConfigError where it is no JSON. */
  constructor(text: string, file: string, variables: ConfigVariables = {}) {
    const json = parsed(text, file);
    const root: JsonObject = isObject(json) ? json : {};
    this.file = file;
    const [section, entries] = sectionOf(root);
    this.#section = section;
    this.#entries = isObject(entries) ? entries : undefined;
    this.#settings = root['everwire'];
    this.#filler = new Filler(variables, file, inputsOf(root));
  }

  /** The names of all entries; undefined where the file lists no servers at all. */
  get names(): string[] | undefined {
    return this.#entries && Object.keys(this.#entries);
  }

  /**
   * One server, or undefined where there is no entry of that name.
   *
   * @throws ConfigError where its entry cannot be used.
   */
  server(name: string): ServerConfig | undefined {
    if (!this.#entries || !Object.hasOwn(this.#entries, name)) return undefined;
    const findings: Findings = { problems: [], warnings: [] };
    const server = this.#read(name, findings);
    if (!server || findings.problems.length > 0) throw new ConfigError(this.file, findings.problems);
    return server;
  }

  /** @throws ConfigError with all that is wrong. */
  fleet(): FleetConfig {
    const findings: Findings = { problems: [], warnings: [] };
    const top = new Place('', findings);
    const servers: ServerConfig[] = [];
    const all = this.names;
    if (!all) top.wrong('has no "mcpServers", or they are no object');
    else if (all.length > MAX_SERVERS) top.wrong(`has more than ${MAX_SERVERS} servers`);
    else {
      for (const name of all) {
        checkName(name, new Place(this.#section, findings).at(name));
        if (isDisabled(this.#entries![name])) continue;
        const server = this.#read(name, findings);
        if (server) servers.push(server);
      }
    }
    const { names, separator } = readSettings(this.#settings, top.at('everwire'));
    if (findings.problems.length > 0) throw new ConfigError(this.file, findings.problems);
    return { file: this.file, servers, names, separator, warnings: findings.warnings };
  }

  #read(name: string, findings: Findings): ServerConfig | undefined {
    const place = new Place(this.#section, findings).at(name);
    const server = readServer(name, this.#entries![name], this.file, place, this.#filler);
    if (server?.kind !== 'command') return server;
    const withheld = this.#ofOthers(name);
    return withheld.length === 0 ? server : { ...server, withheld };
  }

  /** The variables that other entries name, disabled ones too, and this one does not. */
  #ofOthers(name: string): string[] {
    const own = this.#variables(name);
    const all = new Set(this.names!.flatMap((each) => Array.from(this.#variables(each))));
    return [...all].filter((each) => !own.has(each));
  }

  #variables(name: string): ReadonlySet<string> {
    let found = this.#variablesOf.get(name);
    if (!found) this.#variablesOf.set(name, (found = variablesOf(this.#entries![name])));
    return found;
  }
}

function textOf(file: string): string {
  try {
    return readRegularFile(file).toString('utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    throw new ConfigError(file, [missing ? 'there is no such file' : message], { cause: error });
  }
}

function parsed(text: string, file: string): unknown {
  try {
    return parseConfigJson(text);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new ConfigError(file, [`it is no JSON: ${error.message}`]);
  }
}

/** Where the servers are: VS Code calls them `servers`, and had them under `mcp` in its settings. */
function sectionOf(root: JsonObject): [section: string, entries: unknown] {
  if (root['mcpServers'] !== undefined) return ['mcpServers', root['mcpServers']];
  if (root['servers'] !== undefined) return ['servers', root['servers']];
  const { mcp } = root;
  return isObject(mcp) && mcp['servers'] !== undefined ? ['mcp.servers', mcp['servers']] : ['mcpServers', undefined];
}

/** What VS Code would ask for. */
function inputsOf(root: JsonObject): Map<string, Input> {
  const { mcp } = root;
  const listed: unknown = root['inputs'] ?? (isObject(mcp) ? mcp['inputs'] : undefined);
  const inputs = new Map<string, Input>();
  for (const input of Array.isArray(listed) ? (listed as unknown[]) : []) {
    if (!isObject(input) || typeof input['id'] !== 'string') continue;
    const text = (key: string): string | undefined => (typeof input[key] === 'string' ? input[key] : undefined);
    inputs.set(input['id'], { description: text('description'), default: text('default') });
  }
  return inputs;
}

function checkName(name: string, place: Place): void {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (name === '' || name.length > MAX_SERVER_NAME || /[\u0000-\u001f\u007f]/.test(name))
    place.wrong(`is no name of a server: it must be 1 to ${MAX_SERVER_NAME} characters, none of them for control`);
  // Each server has a path of its own, and these would lead elsewhere.
  else if (name === '.' || name === '..') place.wrong('is no name of a server: it is a way through folders');
}

function readSettings(settings: unknown, place: Place): Pick<FleetConfig, 'names' | 'separator'> {
  const usual = { names: 'clash', separator: '__' } as const;
  if (settings === undefined) return usual;
  if (!isObject(settings)) {
    place.wrong('must be an object');
    return usual;
  }
  place.only(settings, ['names', 'separator']);
  const names =
    settings['names'] === undefined ? 'clash' : place.at('names').choice(settings['names'], ['clash', 'always']);
  const separator: unknown = settings['separator'] ?? usual.separator;
  if (typeof separator === 'string' && SEPARATOR.test(separator)) return { names: names ?? usual.names, separator };
  place.at('separator').wrong('must be 1 to 4 of the characters _ - .');
  return usual;
}
