import type { JsonObject } from '../jsonrpc/message.ts';
import { page } from './pages.ts';

/** Something registered, to change or take away while the server runs. Listeners hear of both. */
export interface Registered<Config> {
  /** Changes what is given and keeps the rest. @throws Error where it has been removed. */
  update(changes: Partial<Config>): void;
  /** May be called more than once. */
  remove(): void;
}

export interface RegistryOptions {
  /** How errors name an entry: `Tool`. */
  readonly kind: string;
  /** The property of the list result: `tools`. */
  readonly list: string;
  readonly pageSize: number;
  /** Called after every change. */
  readonly changed: () => void;
}

/** Named entries in the order in which they were registered, and their list, made once a change. */
export class Registry<Config extends object, Entry extends { readonly definition: JsonObject }> {
  readonly #entries = new Map<string, Entry>();
  readonly #options: RegistryOptions;
  #definitions: readonly JsonObject[] | undefined;
  #firstPage: JsonObject | undefined;
  #used = false;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** Whether anything was ever registered: a capability once declared stays. */
  get used(): boolean {
    return this.#used;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  entries(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  /** @throws Error where the key is taken; and whatever `build` throws, then nothing has changed. */
  add(key: string, config: Config, build: (config: Config) => Entry): Registered<Config> {
    if (this.#entries.has(key)) throw new Error(`${this.#options.kind} ${key} is already registered`);
    let current = config;
    let entry = build(config);
    this.#used = true;
    this.#set(key, entry);
    return {
      update: (changes) => {
        if (this.#entries.get(key) !== entry) throw new Error(`${this.#options.kind} ${key} has been removed`);
        const next = { ...current, ...changes };
        entry = build(next);
        current = next;
        this.#set(key, entry);
      },
      remove: () => {
        if (this.#entries.get(key) !== entry) return;
        this.#entries.delete(key);
        this.#forget();
      },
    };
  }

  definitions(): readonly JsonObject[] {
    return (this.#definitions ??= Object.freeze(Array.from(this.#entries.values(), ({ definition }) => definition)));
  }

  /** The result of a list request. Shared between callers, therefore frozen. */
  page(cursor: unknown): JsonObject {
    const { list, pageSize } = this.#options;
    if (cursor !== undefined) return page(list, this.definitions(), cursor, pageSize);
    return (this.#firstPage ??= Object.freeze(page(list, this.definitions(), undefined, pageSize)));
  }

  #set(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
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
