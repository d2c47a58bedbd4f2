import { fileProblem } from '../../base/file-problem.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Naming, SEPARATOR } from '../fleet/names.ts';
import { ConfigJson, JsonError } from './json.ts';
import { ConfigError, Place, type Found } from './place.ts';
import { readUtf8File } from '../../base/text-file.ts';
import { isDisabled, MAX_CONFIG_FILE, readServer, type ServerConfig } from './server.ts';
import { fillWith, variablesOf, type ConfigVariables, type Fill, type Input } from './variables.ts';

export { ConfigError } from './place.ts';
export type { OAuthSettings } from './oauth.ts';
export type { CommandServer, ServerConfig, UrlServer } from './server.ts';
export type { ConfigVariables } from './variables.ts';

/** A configuration file of an MCP host, as a fleet uses it. */
export interface FleetConfig {
  readonly file: string;
  /** The servers that are not disabled, in the order of the file. */
  readonly servers: readonly ServerConfig[];
  /** The separator between a server's name and the name of its tool or prompt. Default `__`. */
  readonly separator: string;
  /** What is probably a mistake, each with its place: `line 4, column 7: … (did you mean "args"?)`. */
  readonly warnings?: readonly string[];
}

const MAX_SERVERS = 500;
const MAX_SERVER_NAME = 100;

/**
 * Reads a configuration file: `mcpServers` (Claude, Cursor and others), or `servers` with `inputs` (VS Code).
 *
 * @throws ConfigError with all problems of the file.
 */
export function readConfig(file: string, variables: ConfigVariables = {}): FleetConfig {
  return ConfigFile.read(file, variables).fleet();
}

/** Like `readConfig`, for a text that was already read. */
export function parseConfig(text: string, file: string, variables: ConfigVariables = {}): FleetConfig {
  return new ConfigFile(text, file, variables).fleet();
}

/** A configuration file. An entry is checked only when it is used. */
export class ConfigFile {
  readonly file: string;
  /** What is probably a mistake in the entries that were read last. */
  warnings: readonly string[] = [];
  readonly #json: ConfigJson;
  readonly #root: JsonObject;
  /** The keys that lead to the entries. */
  readonly #section: readonly string[];
  /** Undefined if the file lists no servers. */
  readonly #entries: JsonObject | undefined;
  readonly #fill: Fill;
  /** The environment variables that any entry names, including disabled entries. */
  readonly #variables: ReadonlySet<string>;

  /** @throws ConfigError if the file cannot be read or is not JSON. */
  static read(file: string, variables: ConfigVariables = {}): ConfigFile {
    return new ConfigFile(textOf(file), file, variables);
  }

  /** @throws ConfigError if the text is not JSON. */
  constructor(text: string, file: string, variables: ConfigVariables = {}) {
    this.file = file;
    this.#json = parsed(text, file);
    this.#root = isObject(this.#json.value) ? this.#json.value : {};
    const mcp = isObject(this.#root['mcp']) ? this.#root['mcp'] : {};
    // VS Code uses the key `servers`; in its settings, the key is inside `mcp`. Zed uses `context_servers`.
    const key = ['mcpServers', 'servers', 'context_servers'].find((each) => this.#root[each] !== undefined);
    const entries = key === undefined ? mcp['servers'] : this.#root[key];
    this.#section = key === undefined ? ['mcp', 'servers'] : [key];
    this.#entries = isObject(entries) ? (key === 'context_servers' ? withoutExtensions(entries) : entries) : undefined;
    this.#fill = fillWith(variables, file, inputsIn(this.#root['inputs'] ?? mcp['inputs']));
    this.#variables = variablesOf(this.#entries ?? {});
  }

  /** The names of all entries; undefined if the file lists no servers. */
  get names(): string[] | undefined {
    return this.#entries && Object.keys(this.#entries);
  }

  /**
   * One server, or undefined if there is no entry of that name.
   *
   * @throws ConfigError if the entry cannot be used.
   */
  server(name: string): ServerConfig | undefined {
    if (!this.#entries || !Object.hasOwn(this.#entries, name)) return undefined;
    const { problems, warnings }: Found = { problems: [], warnings: [] };
    const server = this.#read(name, new Place(this.#json, { problems, warnings }, this.#fill));
    this.warnings = warnings;
    if (!server || problems.length > 0) throw new ConfigError(this.file, problems);
    return server;
  }

  /** @throws ConfigError with all problems of the file. */
  fleet(): FleetConfig {
    const { problems, warnings }: Found = { problems: [], warnings: [] };
    const top = new Place(this.#json, { problems, warnings }, this.#fill);
    const servers: ServerConfig[] = [];
    const all = this.names;
    if (!all) top.wrong('has no object "mcpServers"');
    else if (all.length > MAX_SERVERS) top.wrong(`has more than ${MAX_SERVERS} servers`);
    else {
      for (const name of all) {
        checkName(name, top.at(...this.#section, name));
        if (isDisabled(this.#entries![name])) continue;
        const server = this.#read(name, top);
        if (server) servers.push(server);
      }
    }
    const separator = readSeparator(this.#root['everwire'], top.at('everwire'));
    if (problems.length === 0) checkNames(servers, separator, top.at(...this.#section));
    if (problems.length > 0) throw new ConfigError(this.file, problems);
    return { file: this.file, servers, separator, warnings };
  }

  #read(name: string, top: Place): ServerConfig | undefined {
    const entry = this.#entries![name];
    const server = readServer(name, entry, this.file, top.at(...this.#section, name));
    if (server?.kind !== 'command') return server;
    // Variables that only other entries name may be secrets of those servers.
    const own = variablesOf(entry);
    const withheld = [...this.#variables].filter((variable) => !own.has(variable));
    return withheld.length === 0 ? server : { ...server, withheld };
  }
}

/** Entries of Zed without a command and a URL are settings of its extensions. Only Zed can start these. */
function withoutExtensions(entries: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).filter(
      ([, entry]) => !isObject(entry) || entry['command'] !== undefined || entry['url'] !== undefined,
    ),
  );
}

function textOf(file: string): string {
  try {
    return readUtf8File(file, MAX_CONFIG_FILE);
  } catch (error) {
    throw new ConfigError(file, [fileProblem(error)], { cause: error });
  }
}

function parsed(text: string, file: string): ConfigJson {
  try {
    return new ConfigJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ConfigError(file, [error.message]);
  }
}

/** The inputs that VS Code would ask for, by id. */
function inputsIn(listed: unknown): Map<string, Input> {
  const inputs = new Map<string, Input>();
  for (const input of Array.isArray(listed) ? (listed as unknown[]) : []) {
    if (!isObject(input) || typeof input['id'] !== 'string') continue;
    const text = (key: string): string | undefined => (typeof input[key] === 'string' ? input[key] : undefined);
    inputs.set(input['id'], { description: text('description'), default: text('default') });
  }
  return inputs;
}

function checkName(name: string, place: Place): void {
  // oxlint-disable-next-line no-control-regex -- searches for control characters
  if (name === '' || name.length > MAX_SERVER_NAME || /[\u0000-\u001f\u007f]/.test(name))
    place.wrong(`cannot name a server: use 1 to ${MAX_SERVER_NAME} characters, without control characters`);
  // Each server is served at a path with its name, and these names would change the path.
  else if (name === '.' || name === '..') place.wrong('cannot name a server: it has a meaning in paths');
}

function readSeparator(settings: unknown, place: Place): string {
  const usual = '__';
  if (settings === undefined) return usual;
  if (!isObject(settings)) {
    place.wrong('must be an object');
    return usual;
  }
  place.only(settings, ['separator']);
  const separator: unknown = settings['separator'] ?? usual;
  if (typeof separator === 'string' && SEPARATOR.test(separator)) return separator;
  place.at('separator').wrong('must be 1 to 4 of the characters _ - .');
  return usual;
}

/** Finds tools whose new name is already used. */
function checkNames(servers: readonly ServerConfig[], separator: string, place: Place): void {
  try {
    void new Naming(servers, { separator });
  } catch (error) {
    place.wrong(`cannot be used together: ${(error as Error).message}`);
  }
}
