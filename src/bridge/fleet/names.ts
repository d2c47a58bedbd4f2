import { createHash } from 'node:crypto';

/** Characters of a name that hosts and models take. */
export const MAX_NAME = 64;
/** Characters of what stands before a server's names. */
const MAX_PREFIX = 32;
const VALID = /^[A-Za-z0-9_.-]+$/;
/** How a name ends that was shortened, or had characters replaced. A name that looks so by itself is treated so, too. */
const HASHED = /_[0-9a-f]{10}$/;
const HASH_LENGTH = 10;

/** How the names of several servers are kept apart. */
export interface NameRules {
  /** When a name gets its server's before it: where two servers have it, or always. Default `clash`. */
  readonly names?: 'clash' | 'always' | undefined;
  /** What stands between the two, 1 to 4 of the characters `_ - .`. Default `__`. */
  readonly separator?: string | undefined;
}

/**
 * Gives names to what several servers have, such that each leads back: at most 64 letters, digits and `_ - .`. What a name
 * becomes depends on itself and its server's name; where names are only kept apart when they clash, on whether another
 * server has it, too. The order of the servers means nothing.
 */
export class Naming {
  readonly always: boolean;
  readonly separator: string;
  readonly #prefixes = new Map<string, string>();
  readonly #members = new Map<string, string>();

  /** @throws RangeError for a separator that cannot be. */
  constructor(members: Iterable<string>, { names = 'clash', separator = '__' }: NameRules = {}) {
    if (!/^[_.-]{1,4}$/.test(separator)) throw new RangeError('separator must be 1 to 4 of the characters _ - .');
    this.always = names === 'always';
    this.separator = separator;
    for (const member of members) {
      const prefix = prefixOf(member, separator);
      this.#prefixes.set(member, prefix);
      this.#members.set(prefix, member);
    }
  }

  /** A name with its server's before it. */
  prefixed(member: string, name: string): string {
    return `${this.#prefixes.get(member)!}${this.separator}${this.partOf(member, name)}`;
  }

  /** What stands of a name behind its server's. */
  partOf(member: string, name: string): string {
    return shortened(name, MAX_NAME - this.#prefixes.get(member)!.length - this.separator.length);
  }

  /** A name without its server's; undefined where it looks as if it had one before it, and so needs its own. */
  plain(name: string): string | undefined {
    const short = shortened(name, MAX_NAME);
    return this.split(short) ? undefined : short;
  }

  /** Takes apart what has a server's name before it. */
  split(name: string): { readonly member: string; readonly part: string } | undefined {
    // No prefix has the separator in it, not even together with one that follows.
    const end = name.indexOf(this.separator);
    const member = end < 1 ? undefined : this.#members.get(name.slice(0, end));
    return member === undefined ? undefined : { member, part: name.slice(end + this.separator.length) };
  }
}

/** Whether a part is the name itself, or has to be looked up. */
export function isShortened(part: string): boolean {
  return HASHED.test(part);
}

function shortened(name: string, room: number): string {
  if (name.length <= room && VALID.test(name) && !HASHED.test(name)) return name;
  const head = name.slice(0, room).replace(/[^A-Za-z0-9_.-]+/g, '_');
  return `${head.slice(0, room - HASH_LENGTH - 1)}_${hash(name)}`;
}

function prefixOf(member: string, separator: string): string {
  const usable =
    VALID.test(member) &&
    member.length <= MAX_PREFIX &&
    `${member}${separator}`.indexOf(separator) === member.length &&
    !/[0-9a-f]{10}$/.test(member);
  if (usable) return member;
  // Letters and digits alone, for these are in no separator.
  return `${member.replace(/[^A-Za-z0-9]+/g, '').slice(0, MAX_PREFIX - HASH_LENGTH)}${hash(member)}`;
}

/** What stands for a server in URIs, ids of tasks and states: lower case, for URIs are compared so. */
export function labelOf(member: string): string {
  if (/^[a-z0-9][a-z0-9.-]{0,31}$/.test(member) && !/[0-9a-f]{10}$/.test(member)) return member;
  return `${member
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '')
    .slice(0, MAX_PREFIX - HASH_LENGTH)}${hash(member)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}

/** The names that the servers have, as far as they are known, and what they are called outside. */
export class NameTable {
  readonly #naming: Naming;
  /** Who has a name, by what it is without its server's. */
  readonly #plain = new Map<string, { readonly member: string; readonly name: string }[]>();
  /** Those that do not stand as they are behind their server's name. */
  readonly #parts = new Map<string, Map<string, string>>();

  constructor(naming: Naming, names: ReadonlyMap<string, Iterable<string>>) {
    this.#naming = naming;
    for (const [member, own] of names) for (const name of own) this.#add(member, name);
  }

  #add(member: string, name: string): void {
    const part = this.#naming.partOf(member, name);
    if (part !== name) {
      let parts = this.#parts.get(member);
      if (!parts) this.#parts.set(member, (parts = new Map()));
      parts.set(part, name);
    }
    if (this.#naming.always) return;
    const plain = this.#naming.plain(name);
    if (plain === undefined) return;
    const owners = this.#plain.get(plain);
    if (owners) owners.push({ member, name });
    else this.#plain.set(plain, [{ member, name }]);
  }

  /** What a server's name is called outside. */
  outward(member: string, name: string): string {
    if (!this.#naming.always) {
      const plain = this.#naming.plain(name);
      const others = plain === undefined ? undefined : this.#plain.get(plain);
      if (plain !== undefined && !others?.some((other) => other.member !== member)) return plain;
    }
    return this.#naming.prefixed(member, name);
  }

  /** The servers that have what a name stands for, each with its own name for it. More than one where it is ambiguous. */
  inward(name: string): readonly { readonly member: string; readonly name: string }[] {
    const split = this.#naming.split(name);
    if (!split) return this.#plain.get(name) ?? [];
    const { member, part } = split;
    if (!isShortened(part)) return [{ member, name: part }];
    const own = this.#parts.get(member)?.get(part);
    return own === undefined ? [] : [{ member, name: own }];
  }
}
