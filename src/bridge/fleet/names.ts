import { createHash } from 'node:crypto';
import { wrapUri } from './ids.ts';
import { TOOLS, type ListKind } from './kinds.ts';
import type { ToolSelection } from './selection.ts';

/** Hosts and models take names of so many characters. */
export const MAX_NAME = 64;
/** Characters of the part that stands for the server. */
const MAX_PREFIX = 32;
/** What hosts and models take in a name. */
const ALLOWED = /^[A-Za-z0-9_-]+$/;
/** A separator has no letter or digit, so it is never part of a hash. */
export const SEPARATOR = /^[_.-]{1,4}$/;
const HASH_LENGTH = 10;
/** The end of a shortened name. A server's own name that ends like this is shortened too, so that all of these are ours. */
const SHORTENED = /_[0-9a-f]{10}$/;

/** How the names of several servers are written. */
export interface NameRules {
  /** Stands between the server's name and the name of the tool or prompt. 1 to 4 of the characters `_ - .`. Default `__`. */
  readonly separator?: string | undefined;
}

/** A server, as far as its names are concerned. */
export interface NamedServer {
  readonly name: string;
  readonly tools?: ToolSelection | undefined;
}

/** What a name leads to. */
interface Inward {
  readonly server: string;
  /** The name without the server's. */
  readonly name: string;
  /** Whether it stands for another name, which is in the server's list: the one with the same `behindPrefix`. */
  readonly shortened: boolean;
}

/**
 * The names of tools and prompts as clients see them. One server keeps its own names. With several servers each name begins
 * with its server's: `notes__search`. A tool that the configuration renames has exactly the name that it is given. So a name
 * tells its server without a look at any list.
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
   * @throws RangeError for a separator that is not allowed; TypeError where the names of two servers have the same letters and
   * digits, where tools of two servers get the same name, and where a new name begins like those of a server.
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
        throw new TypeError(`the names ${JSON.stringify(other)} and ${JSON.stringify(name)} are too much alike`);
      labels.set(label, name);
      this.#prefixes.set(name, prefix);
      this.#servers.set(prefix, name);
    }
    for (const { name, tools } of servers)
      for (const [tool, to] of Object.entries(tools?.rename ?? {})) this.#rename(name, tool, to);
  }

  #rename(server: string, tool: string, to: string): void {
    const renamed = `the tool ${JSON.stringify(tool)} of ${JSON.stringify(server)} is renamed to a name that`;
    const other = this.#renamed.get(to) ?? server;
    if (other !== server) throw new TypeError(`${renamed} a tool of ${JSON.stringify(other)} is renamed to, too`);
    const owner = this.#split(to)?.server;
    if (owner !== undefined) throw new TypeError(`${renamed} begins like those of ${JSON.stringify(owner)}`);
    this.#renamed.set(to, server);
  }

  /** What clients call a tool or a prompt of a server. */
  outward(kind: ListKind, server: string, name: string): string {
    if (this.bare || (kind === TOOLS && this.#renamed.get(name) === server)) return name;
    return `${this.#prefixes.get(server)!}${this.#separator}${this.behindPrefix(server, name)}`;
  }

  /** Where a name leads; undefined where it leads to no server. */
  inward(kind: ListKind, name: string): Inward | undefined {
    if (this.bare) return { server: [...this.#prefixes.keys()][0]!, name, shortened: false };
    const server = kind === TOOLS ? this.#renamed.get(name) : undefined;
    return server === undefined ? this.#split(name) : { server, name, shortened: false };
  }

  /** A server's own name as it stands behind the server's prefix: shortened where it does not fit. */
  behindPrefix(server: string, name: string): string {
    const room = MAX_NAME - this.#prefixes.get(server)!.length - this.#separator.length;
    if (name.length <= room && ALLOWED.test(name) && !SHORTENED.test(name)) return name;
    const head = name.slice(0, room).replace(/[^A-Za-z0-9_-]+/g, '_');
    return `${head.slice(0, room - HASH_LENGTH - 1)}_${hash(name)}`;
  }

  /** What clients call the resource of a server: `everwire+notes:file:///a.txt`. Also for a template of URIs. */
  outwardUri({ label }: { readonly label: string }, uri: string): string {
    return this.bare ? uri : wrapUri(label, uri);
  }

  /** What the names of all servers begin with, for people to read. */
  get prefixes(): string[] {
    return [...this.#servers.keys()].map((prefix) => `${prefix}${this.#separator}`);
  }

  #split(name: string): Inward | undefined {
    // No prefix has the separator in it, not even together with the separator that follows.
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

/** What stands for a server in URIs, task ids, cursors and states: lower case, since schemes of URIs are compared so. */
export function labelOf(server: string): string {
  return wordsOf(server.toLowerCase(), '-');
}

/** The letters and digits of a name, with something else in place of the rest. */
function wordsOf(name: string, filler: string): string {
  const words = name.match(/[A-Za-z0-9]+/g)?.join(filler) ?? '';
  if (words !== '' && words.length <= MAX_PREFIX) return words;
  return `${words.slice(0, MAX_PREFIX - HASH_LENGTH)}${hash(name)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}
