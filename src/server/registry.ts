import { quoting } from '../base/short-text.ts';
import type { Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { Icon } from '../protocol/types.ts';
import { cacheHints, type CacheHints } from './cache-hints.ts';
import { page } from './pages.ts';
import { constant } from '../jsonrpc/stringify.ts';

/** Options that every tool, resource, resource template and prompt has. */
export interface EntryConfig {
  /** Shown to users. Default: the name. */
  title?: string | undefined;
  description?: string | undefined;
  icons?: Icon[] | undefined;
  _meta?: JsonObject | undefined;
  /** Default true. A disabled entry is in no list, and requests for it fail as if it did not exist. */
  enabled?: boolean | undefined;
  /**
   * The scopes that a caller needs; all of them are required. Callers without a credential are not checked. Default:
   * none. Lists show the entry to every caller (2026-07-28, basic/authorization: Scope Challenge Handling).
   */
  scopes?: readonly string[] | undefined;
}

/**
 * A registered entry, which can be changed and removed while the server runs. Subscribers are notified of every change.
 */
export interface Registered<Config> {
  readonly enabled: boolean;
  /** Enables it again. @throws Error if it was removed. */
  enable(): void;
  /**
   * Disables it: it is in no list, and requests for it fail as if it did not exist. @throws Error if it was removed.
   */
  disable(): void;
  /** Changes the given settings and keeps the rest. @throws Error if it was removed. */
  update(changes: Partial<Config>): void;
  /** Removes it. May be called more than once. */
  remove(): void;
}

export interface RegistryOptions {
  /** The name of an entry's kind in error messages: `Tool`. */
  readonly kind: string;
  /** The property of the list result: `tools`. */
  readonly list: string;
  readonly pageSize: number;
  /** The cache hints of every page of the list. */
  readonly cache?: CacheHints | undefined;
  /** Called after every change. */
  readonly changed: () => void;
}

const NO_SCOPES: readonly string[] = [];

interface Slot<Entry> {
  readonly entry: Entry;
  readonly enabled: boolean;
  readonly scopes: readonly string[];
}

/** Named entries in the order of registration, and their list. The list is rebuilt only after a change. */
export class Registry<Config extends EntryConfig, Entry extends { readonly definition: JsonObject }> {
  /** The cache hints of every page of the list. */
  readonly hints: JsonObject;
  readonly #slots = new Map<string, Slot<Entry>>();
  readonly #options: RegistryOptions;
  #definitions: readonly JsonObject[] | undefined;
  #firstPage: JsonObject | undefined;
  #used = false;

  /** @throws TypeError if the cache hints are invalid. */
  constructor(options: RegistryOptions) {
    this.#options = options;
    this.hints = cacheHints(options.cache ?? {}, `The list of ${options.list}`);
  }

  /** Whether anything was ever registered. A capability stays declared even if all entries are removed. */
  get used(): boolean {
    return this.#used;
  }

  /** Finds an enabled entry. */
  get(key: string): Entry | undefined {
    const slot = this.#slots.get(key);
    return slot?.enabled ? slot.entry : undefined;
  }

  /** The enabled entries, in order. */
  *entries(): IterableIterator<Entry> {
    for (const { entry, enabled } of this.#slots.values()) if (enabled) yield entry;
  }

  /** The scopes that an enabled entry requires. */
  scopesOf(key: string): readonly string[] {
    const slot = this.#slots.get(key);
    return slot?.enabled ? slot.scopes : NO_SCOPES;
  }

  /**
   * Over HTTP, such a request is refused earlier, with a status that names the missing scopes.
   *
   * @throws RpcError −32600 if the caller's credential lacks a scope that the entry needs.
   */
  authorize(key: string, { auth }: Caller): void {
    if (auth === undefined) return;
    const missing = this.scopesOf(key).filter((scope) => !auth.scopes.includes(scope));
    if (missing.length === 0) return;
    throw new RpcError(
      ErrorCode.InvalidRequest,
      `${this.#options.kind} ${key} needs scopes that were not granted: ${missing.join(' ')}`,
    );
  }

  /**
   * The entry that a request names, and the arguments for it.
   *
   * @throws RpcError −32602 if the request is malformed or the entry unknown, and the errors of `authorize`.
   */
  requested({ params, caller }: Exchange): { readonly entry: Entry; readonly args: JsonObject } {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw new RpcError(ErrorCode.InvalidParams, '"name" must be a string');
    const entry = this.get(name);
    if (!entry)
      throw new RpcError(ErrorCode.InvalidParams, quoting`Unknown ${this.#options.kind.toLowerCase()}: ${name}`);
    this.authorize(name, caller);
    if (!isObject(args)) throw new RpcError(ErrorCode.InvalidParams, '"arguments" must be an object');
    return { entry, args };
  }

  /** @throws Error if the key is taken; and the errors of `build`. Nothing has changed then. */
  add(key: string, config: Config, build: (config: Config) => Entry): Registered<Config> {
    const { kind } = this.#options;
    if (this.#slots.has(key)) throw new Error(`${kind} ${key} is already registered`);
    const make = ({ enabled = true, scopes = NO_SCOPES, ...rest }: Config): Slot<Entry> => {
      if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string' && /^[^\s"\\]+$/.test(scope)))
        throw new TypeError(`${kind} ${key}: scopes must be strings without spaces, quotes and backslashes`);
      return { entry: build(rest as Config), enabled, scopes: [...scopes] };
    };
    let current = config;
    let slot = make(config);
    this.#used = true;
    this.#set(key, slot);
    const isHere = (): boolean => this.#slots.get(key) === slot;
    const replace = (next: Config, made: Slot<Entry>): void => {
      current = next;
      slot = made;
      this.#set(key, slot);
    };
    const demand = (): void => {
      if (!isHere()) throw new Error(`${kind} ${key} has been removed`);
    };
    const turn = (enabled: boolean): void => {
      demand();
      if (slot.enabled !== enabled) replace({ ...current, enabled }, { ...slot, enabled });
    };
    return {
      get enabled() {
        return isHere() && slot.enabled;
      },
      enable: () => turn(true),
      disable: () => turn(false),
      update: (changes) => {
        demand();
        const next = { ...current, ...changes };
        replace(next, make(next));
      },
      remove: () => {
        if (!isHere()) return;
        this.#slots.delete(key);
        this.#forget();
      },
    };
  }

  /** The definitions that lists show, in the order of registration. */
  definitions(): readonly JsonObject[] {
    return (this.#definitions ??= Object.freeze(Array.from(this.entries(), ({ definition }) => definition)));
  }

  /** The result of a list request. Frozen, because callers share it. */
  page(cursor: unknown): JsonObject {
    const { list, pageSize } = this.#options;
    if (cursor !== undefined) return page(list, this.definitions(), cursor, pageSize, this.hints);
    return (this.#firstPage ??= constant(page(list, this.definitions(), undefined, pageSize, this.hints)));
  }

  #set(key: string, slot: Slot<Entry>): void {
    this.#slots.set(key, slot);
    this.#forget();
  }

  #forget(): void {
    this.#definitions = undefined;
    this.#firstPage = undefined;
    this.#options.changed();
  }
}

/** An object without the properties whose value is undefined. */
export function compact(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
