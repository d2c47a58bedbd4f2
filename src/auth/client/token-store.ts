import { waitFor } from '../../util/wait.ts';

/** Whose credentials: those of one server, from one authorization server. */
export interface CredentialKey {
  /** The address of the server. */
  readonly server: string;
  /** The identifier of the authorization server, letter for letter. */
  readonly issuer: string;
}

/** A client that was registered dynamically. It is good at the issuer of its key only. */
export interface StoredClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** `token_endpoint_auth_method`. */
  readonly authMethod?: string;
  /** When the secret ends, in milliseconds since 1970. Absent: never. */
  readonly secretExpiresAt?: number;
  readonly redirectUris: readonly string[];
}

/** An access token, and what is needed to get the next. */
export interface StoredTokens {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly refreshToken?: string;
  /** When the access token ends, in milliseconds since 1970. Absent: nobody said. */
  readonly expiresAt?: number;
  /** When it is to be refreshed, in milliseconds since 1970. */
  readonly refreshAt?: number;
  /** Scopes that were asked for, and those that were granted. */
  readonly scopes: readonly string[];
  /** The resource that the token is for. */
  readonly resource: string;
  /** Who the token was issued to. */
  readonly clientId: string;
  /** Where the server said that its metadata is. */
  readonly metadataUrl?: string;
  /** The private key to which the tokens are bound, as a JWK. */
  readonly dpopKey?: Readonly<Record<string, unknown>>;
}

/** What is kept for a key. All of it is secret. */
export interface StoredCredentials {
  readonly client?: StoredClient;
  readonly tokens?: StoredTokens;
}

/**
 * Keeps credentials between runs, and between processes. Any method may be called at any time, by several processes that
 * share the store. What is read is a value: to change it does not change the store.
 */
export interface TokenStore {
  /** What is kept for a key; undefined where nothing is. */
  get(key: CredentialKey): Promise<StoredCredentials | undefined>;
  /** Replaces all that is kept for a key: either all of it is seen by others, or none. */
  set(key: CredentialKey, credentials: StoredCredentials): Promise<void>;
  /** Forgets a key. One that is not there is no error. */
  delete(key: CredentialKey): Promise<void>;
  /** The issuers for which something is kept for a server, the one that was written last first. */
  issuers(server: string): Promise<readonly string[]>;
  /**
   * Runs `section` while nobody else, in no process that shares the store, runs one for the same key. Sections of other keys
   * are not held up. A section whose process has died does not hold up others for ever.
   *
   * @param signal stops the wait; a section that has begun is not stopped.
   * @throws what the section throws; the signal's reason.
   */
  locked<T>(key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Keeps credentials as long as the process runs. */
export class MemoryTokenStore implements TokenStore {
  /** In the order in which they were written. */
  readonly #kept = new Map<string, { readonly key: CredentialKey; readonly json: string }>();
  readonly #tails = new Map<string, Promise<void>>();

  async get(key: CredentialKey): Promise<StoredCredentials | undefined> {
    const kept = this.#kept.get(nameOf(key));
    return kept && (JSON.parse(kept.json) as StoredCredentials);
  }

  async set(key: CredentialKey, credentials: StoredCredentials): Promise<void> {
    this.#kept.delete(nameOf(key));
    this.#kept.set(nameOf(key), { key: { ...key }, json: JSON.stringify(credentials) });
  }

  async delete(key: CredentialKey): Promise<void> {
    this.#kept.delete(nameOf(key));
  }

  async issuers(server: string): Promise<readonly string[]> {
    const kept = [...this.#kept.values()].filter(({ key }) => key.server === server);
    return kept.map(({ key }) => key.issuer).toReversed();
  }

  async locked<T>(key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const name = nameOf(key);
    const before = this.#tails.get(name);
    let release!: () => void;
    const mine = new Promise<void>((resolve) => (release = resolve));
    const tail = before ? before.then(() => mine) : mine;
    this.#tails.set(name, tail);
    try {
      if (before) await waitFor(before, { signal });
      signal?.throwIfAborted();
      return await section();
    } finally {
      release();
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    }
  }
}

function nameOf({ server, issuer }: CredentialKey): string {
  return JSON.stringify([server, issuer]);
}
