import { Deferred } from '../../base/deferred.ts';
import { waitFor } from '../../base/wait.ts';

/** Identifies credentials: one server and one authorization server. */
export interface CredentialKey {
  /** The address of the server. */
  readonly server: string;
  /** The exact identifier of the authorization server. */
  readonly issuer: string;
}

/** A dynamically registered client. It is valid only at the issuer of its key. */
export interface StoredClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** `token_endpoint_auth_method`. */
  readonly authMethod?: string;
  /** When the secret expires, in milliseconds since 1970. Absent: never. */
  readonly secretExpiresAt?: number;
  readonly redirectUris: readonly string[];
}

/** An access token, and the data needed to get the next one. */
export interface StoredTokens {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly refreshToken?: string;
  /** When the access token expires, in milliseconds since 1970. Absent: not known. */
  readonly expiresAt?: number;
  /** When to refresh it, in milliseconds since 1970. */
  readonly refreshAt?: number;
  /** The requested and the granted scopes. */
  readonly scopes: readonly string[];
  /** The scopes that the authorization server says it granted. Absent: those that were requested. */
  readonly grantedScopes?: readonly string[];
  /** The resource that the token is for. */
  readonly resource: string;
  /** The client that the token was issued to. */
  readonly clientId: string;
  /** The resource metadata URL that the server named. */
  readonly metadataUrl?: string;
  /** The private key that the tokens are bound to, as a JWK. */
  readonly dpopKey?: Readonly<Record<string, unknown>>;
}

/** The stored data of one key. All of it is secret. */
export interface StoredCredentials {
  readonly client?: StoredClient;
  readonly tokens?: StoredTokens;
}

/**
 * Keeps credentials between runs and shares them between processes. Several processes may call any method at any time. A
 * returned value is a copy: changing it does not change the store.
 */
export interface TokenStore {
  /** The credentials of a key; undefined if there are none. */
  get(key: CredentialKey): Promise<StoredCredentials | undefined>;
  /** Replaces the credentials of a key. The change is atomic: readers see all of it or nothing. */
  set(key: CredentialKey, credentials: StoredCredentials): Promise<void>;
  /** Removes a key. A missing key is not an error. */
  delete(key: CredentialKey): Promise<void>;
  /** The issuers with credentials for a server, the most recently written one first. */
  issuers(server: string): Promise<readonly string[]>;
  /**
   * Runs `section` while no other caller or process that shares the store runs one for the same key. Sections of
   * different keys do not block each other. If a process dies, its section must not block others forever.
   * Logins of users run in sections of keys whose issuer ends with `#login`. Nothing is stored under these keys. Such a
   * section runs sections of the key without `#login` inside it, so both must be possible at the same time.
   *
   * @param signal stops the wait; a section that has begun is not stopped.
   * @throws the section's error; the signal's reason.
   */
  locked<T>(key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Keeps credentials in memory until the process ends. */
export class MemoryTokenStore implements TokenStore {
  /** In the order of writing. */
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
    const mine = new Deferred();
    const tail = before ? before.then(() => mine.promise) : mine.promise;
    this.#tails.set(name, tail);
    try {
      if (before) await waitFor(before, { signal });
      signal?.throwIfAborted();
      return await section();
    } finally {
      mine.resolve();
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    }
  }
}

function nameOf({ server, issuer }: CredentialKey): string {
  return JSON.stringify([server, issuer]);
}
