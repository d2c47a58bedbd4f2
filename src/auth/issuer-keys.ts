import type { JWTVerifyGetKey, LocalJWKSet } from 'jose';
import type { JsonObject } from '../jsonrpc/message.ts';
import { fetchJson } from './fetch-json.ts';
import { issuerMetadataUrls, secureUrl } from './urls.ts';

/** Age at which keys are fetched again, in milliseconds. */
const MAX_AGE = 10 * 60_000;
/** How long keys stay in use after that while the issuer cannot be reached, in milliseconds. */
const GRACE = 60 * 60_000;
/** Minimum milliseconds between two fetches caused by unknown keys. */
const COOLDOWN = 30_000;
/** Milliseconds before a failed fetch is tried again. */
const RETRY_AFTER = 5000;

export interface IssuerKeysOptions {
  /** Must be an `identifierUrl`. */
  readonly issuer: string;
  /** URL of the keys, a `secureUrl`. If undefined, it is read from the issuer's metadata. */
  readonly jwksUri: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Called for each failed fetch after which the known keys stay in use. */
  readonly onerror: (error: Error) => void;
}

/**
 * The keys of an issuer. They are fetched when first needed, and again when they are 10 minutes old. An unknown key causes a
 * fetch at most every 30 seconds, and a failed fetch is repeated after 5 seconds at the earliest, so forged tokens cannot
 * flood the issuer with requests. While fetches fail, known keys stay in use for up to one more hour, and unknown keys are
 * refused. All callers that wait for a failed fetch, or come within 5 seconds after it, get the same error.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: LocalJWKSet | undefined;
  #fetchedAt = 0;
  #failure: { readonly error: unknown; readonly at: number } | undefined;
  #pending: Promise<LocalJWKSet> | undefined;
  #reported: unknown;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** @throws JWKSNoMatchingKey of `jose` if the issuer has no such key, Error if the keys cannot be fetched. */
  readonly get: JWTVerifyGetKey = async (header, token) => {
    const { errors } = await import('jose');
    const keys = await this.#current();
    try {
      return await keys(header, token);
    } catch (error) {
      const unknown = error instanceof errors.JWKSNoMatchingKey;
      if (!unknown || performance.now() - this.#fetchedAt < COOLDOWN) throw error;
      return (await this.#fetch())(header, token);
    }
  };

  async #current(): Promise<LocalJWKSet> {
    const keys = this.#keys;
    const age = performance.now() - this.#fetchedAt;
    if (keys && age < MAX_AGE) return keys;
    // Stryker disable next-line EqualityOperator: a millisecond does not matter
    if (!keys || age >= MAX_AGE + GRACE) return this.#fetch();
    // During an outage, callers do not wait for the next attempt, because it may take seconds to fail.
    const isOutage = this.#failure !== undefined;
    const fetched = this.#fetch().catch((error: unknown) => {
      this.#report(error as Error);
      return keys;
    });
    return isOutage ? keys : fetched;
  }

  /** Reports each failure once, however many callers get it. */
  #report(error: Error): void {
    if (this.#reported === error) return;
    this.#reported = error;
    this.#options.onerror(error);
  }

  #fetch(): Promise<LocalJWKSet> {
    if (this.#failure && performance.now() - this.#failure.at < RETRY_AFTER) return Promise.reject(this.#failure.error);
    return (this.#pending ??= this.#load().finally(() => (this.#pending = undefined)));
  }

  async #load(): Promise<LocalJWKSet> {
    try {
      const { createLocalJWKSet } = await import('jose');
      const { issuer, jwksUri, fetch } = this.#options;
      const url = jwksUri === undefined ? await discover(fetch, issuer) : new URL(jwksUri);
      const keys = createLocalJWKSet((await fetchJson(fetch, url)) as { keys: [] });
      this.#failure = undefined;
      this.#fetchedAt = performance.now();
      return (this.#keys = keys);
    } catch (error) {
      this.#failure = { error, at: performance.now() };
      throw error;
    }
  }
}

/**
 * Finds the URL of an issuer's keys in its metadata (2026-07-28, basic/authorization: Authorization Server Metadata
 * Discovery).
 */
async function discover(fetch: typeof globalThis.fetch, issuer: string): Promise<URL> {
  const failures: Error[] = [];
  for (const place of issuerMetadataUrls(new URL(issuer))) {
    let metadata: JsonObject;
    try {
      metadata = await fetchJson(fetch, new URL(place));
    } catch (error) {
      failures.push(error as Error);
      continue;
    }
    // RFC 8414, section 3.3.
    if (metadata['issuer'] !== issuer) throw new Error(`${place}: the metadata belongs to another issuer`);
    if (typeof metadata['jwks_uri'] !== 'string') throw new Error(`${place}: the metadata has no jwks_uri`);
    return secureUrl(metadata['jwks_uri'], `${place}: jwks_uri`);
  }
  throw new AggregateError(failures, failures.map(({ message }) => message).join('; '));
}
