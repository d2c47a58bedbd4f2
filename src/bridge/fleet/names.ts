import { hash } from 'node:crypto';
import { wrapUri } from './ids.ts';
import { TOOLS, type ListKind } from './kinds.ts';
import type { ToolSelection } from './selection.ts';

/** The longest name that hosts and models accept, in characters. */
export const MAX_NAME = 64;
/** The most characters of the server's part of a name. */
const MAX_PREFIX = 32;
/** The names that hosts and models accept. */
const ALLOWED = /^[A-Za-z0-9_-]+$/;
/** A separator has no letter or digit, so it is never part of a hash. */
export const SEPARATOR = /^[_.-]{1,4}$/;
const HASH_LENGTH = 10;
/**
 * The end of a shortened name. A server's own name that ends like this is shortened too, so this ending always means a
 * shortened name.
 */
const SHORTENED = /_[0-9a-f]{10}$/;

/** The naming rules for several servers. */
export interface NameRules {
  /**
   * The separator between the server's name and the name of the tool or prompt: 1 to 4 of the characters `_ - .`.
   * Default `__`.
   */
  readonly separator?: string | undefined;
}

/** The parts of a server that matter for names. */
export interface NamedServer {
  readonly name: string;
  readonly tools?: ToolSelection | undefined;
}

/** The target of a name. */
interface Inward {
  readonly server: string;
  /** The name without the server's. */
  readonly name: string;
  /** Whether it is a shortened name. The full name is the one in the server's list with the same `behindPrefix`. */
  readonly shortened: boolean;
}

/**
 * The names of tools and prompts as clients see them. A single server keeps its own names. With several servers each
 * name begins with the name of its server: `notes__search`. A tool that the configuration renames has exactly its new
 * name. So every name identifies its server, without any list.
 */
export class Naming {
  /** Whether names and URIs stay as they are, because there is exactly one server. */
  readonly bare: boolean;
  readonly #separator: string;
  readonly #prefixes = new Map<string, string>();
  readonly #servers = new Map<string, string>();
  /** The servers of renamed tools, by their new names. */
  readonly #renamed = new Map<string, string>();

  /**
   * @throws RangeError if the separator is not allowed. TypeError if the names of two servers have the same letters and
   * digits, if two servers' tools get the same name, or if a new name starts with a server's prefix.
   */
  constructor(servers: readonly NamedServer[], { separator = '__' }: NameRules = {}) {
    if (!SEPARATOR.test(separator)) throw new RangeError('separator must be 1 to 4 of the characters _ - .');
    this.#separator = separator;
    this.bare = servers.length === 1;
    const labels = new Map<string, string>();
    for (const { name } of servers) {
      if (typeof name !== 'string' || name === '') throw new TypeError('each server of a fleet needs a name');
      const [prefix, label] = [prefixOf(name, separator), labelOf(name)];
      const other = labels.get(label) ?? this.#servers.get(prefix);
      if (other !== undefined)
        throw new TypeError(
          `the names ${JSON.stringify(other)} and ${JSON.stringify(name)} have the same letters and digits; rename one`,
        );
      labels.set(label, name);
      this.#prefixes.set(name, prefix);
      this.#servers.set(prefix, name);
    }
    for (const { name, tools } of servers)
      for (const [tool, to] of Object.entries(tools?.rename ?? {})) this.#rename(name, tool, to);
  }

  #rename(server: string, tool: string, to: string): void {
    const newName = `the new name of the tool ${JSON.stringify(tool)} of ${JSON.stringify(server)}`;
    const other = this.#renamed.get(to) ?? server;
    if (other !== server) throw new TypeError(`${newName} is also the new name of a tool of ${JSON.stringify(other)}`);
    const owner = this.#split(to)?.server;
    if (owner !== undefined) throw new TypeError(`${newName} begins with the prefix of ${JSON.stringify(owner)}`);
    this.#renamed.set(to, server);
  }

  /** The name of a server's tool or prompt for clients. */
  outward(kind: ListKind, server: string, name: string): string {
    if (this.bare || (kind === TOOLS && this.#renamed.get(name) === server)) return name;
    return `${this.#prefixes.get(server)!}${this.#separator}${this.behindPrefix(server, name)}`;
  }

  /** Finds the server of a name. Undefined if there is none. */
  inward(kind: ListKind, name: string): Inward | undefined {
    if (this.bare) return { server: [...this.#prefixes.keys()][0]!, name, shortened: false };
    const server = kind === TOOLS ? this.#renamed.get(name) : undefined;
    if (server !== undefined) return { server, name, shortened: false };
    const found = this.#split(name);
    // A renamed tool has only its new name.
    return found && kind === TOOLS && this.#renamed.get(found.name) === found.server ? undefined : found;
  }

  /** The part of a name after the server's prefix: the own name, shortened if it is too long. */
  behindPrefix(server: string, name: string): string {
    const room = MAX_NAME - this.#prefixes.get(server)!.length - this.#separator.length;
    if (name.length <= room && ALLOWED.test(name) && !SHORTENED.test(name)) return name;
    const head = name.slice(0, room).replace(/[^A-Za-z0-9_-]+/g, '_');
    return `${head.slice(0, room - HASH_LENGTH - 1)}_${shortHash(name)}`;
  }

  /** The URI of a server's resource for clients: `everwire+notes:file:///a.txt`. Also for URI templates. */
  outwardUri({ label }: { readonly label: string }, uri: string): string {
    return this.bare ? uri : wrapUri(label, uri);
  }

  /** The prefixes of all servers, to show to users. */
  get prefixes(): string[] {
    return [...this.#servers.keys()].map((prefix) => `${prefix}${this.#separator}`);
  }

  #split(name: string): Inward | undefined {
    // No prefix contains the separator, not even where the end of the prefix and the separator after it meet.
    const end = name.indexOf(this.#separator);
    const server = end < 1 ? undefined : this.#servers.get(name.slice(0, end));
    if (server === undefined) return undefined;
    const own = name.slice(end + this.#separator.length);
    return { server, name: own, shortened: SHORTENED.test(own) };
  }
}

function prefixOf(server: string, separator: string): string {
  const fits =
    ALLOWED.test(server) && server.length <= MAX_PREFIX && `${server}${separator}`.indexOf(separator) === server.length;
  return fits ? server : wordsOf(server, ['_', '-'].find((each) => !separator.includes(each)) ?? '');
}

/**
 * The label of a server in URIs, task ids, cursors and states. Lower case, because URI schemes are case-insensitive.
 */
export function labelOf(server: string): string {
  return wordsOf(server.toLowerCase(), '-');
}

/** The letters and digits of a name. All other characters are replaced. */
function wordsOf(name: string, filler: string): string {
  const words = name.match(/[A-Za-z0-9]+/g)?.join(filler) ?? '';
  if (words !== '' && words.length <= MAX_PREFIX) return words;
  return `${words.slice(0, MAX_PREFIX - HASH_LENGTH)}${shortHash(name)}`;
}

/** A list may have tens of thousands of names to shorten. `createHash` needs three times as long. */
function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HASH_LENGTH);
}
