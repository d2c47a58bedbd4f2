import { MemoryTokenStore, type CredentialKey, type StoredCredentials, type TokenStore } from './token-store.ts';
import type { WebStorage } from './page.ts';

const KEY = 'everwire-tokens';
type Entry = readonly [server: string, issuer: string, credentials: StoredCredentials];

/** The part of `navigator.locks` that is used. */
interface Locks {
  request<T>(name: string, options: { signal?: AbortSignal }, section: () => Promise<T>): Promise<T>;
}

/**
 * Keeps credentials in `sessionStorage`, for one tab, or in `localStorage`, for all tabs of an origin. All scripts of the
 * origin can read them.
 */
export class WebTokenStore implements TokenStore {
  readonly #storage: WebStorage;
  readonly #inThisTab = new MemoryTokenStore();

  constructor(storage: WebStorage) {
    this.#storage = storage;
  }

  async get(key: CredentialKey): Promise<StoredCredentials | undefined> {
    return this.#read().find((entry) => isOf(entry, key))?.[2];
  }

  async set(key: CredentialKey, credentials: StoredCredentials): Promise<void> {
    this.#write([[key.server, key.issuer, credentials], ...this.#others(key)]);
  }

  async delete(key: CredentialKey): Promise<void> {
    this.#write(this.#others(key));
  }

  async issuers(server: string): Promise<readonly string[]> {
    return this.#read().flatMap(([of, issuer]) => (of === server ? [issuer] : []));
  }

  locked<T>(key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { localStorage, navigator } = globalThis as { localStorage?: unknown; navigator?: { locks?: Locks } };
    const locks = this.#storage === localStorage ? navigator?.locks : undefined;
    if (!locks) return this.#inThisTab.locked(key, section, signal);
    return locks.request(`${KEY} ${JSON.stringify([key.server, key.issuer])}`, signal ? { signal } : {}, section);
  }

  /** The most recently written one first. */
  #read(): readonly Entry[] {
    return JSON.parse(this.#storage.getItem(KEY) ?? '[]') as Entry[];
  }

  #others(key: CredentialKey): readonly Entry[] {
    return this.#read().filter((entry) => !isOf(entry, key));
  }

  #write(entries: readonly Entry[]): void {
    if (entries.length === 0) this.#storage.removeItem(KEY);
    else this.#storage.setItem(KEY, JSON.stringify(entries));
  }
}

function isOf([server, issuer]: Entry, key: CredentialKey): boolean {
  return server === key.server && issuer === key.issuer;
}
