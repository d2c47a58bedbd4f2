import type { JWTVerifyGetKey, LocalJWKSet } from 'jose';
import type { JsonObject } from '../jsonrpc/message.ts';
import { fetchJson } from './fetch-json.ts';
import { identifierUrl, secureUrl, wellKnown } from './urls.ts';

/** Milliseconds for which keys are used before they are fetched again. */
const MAX_AGE = 10 * 60_000;
/** Milliseconds for which they serve on after that where no others can be had. */
const GRACE = 60 * 60_000;
/** Milliseconds between two fetches for the sake of a key that is not known. */
const COOLDOWN = 30_000;
/** Milliseconds after which a fetch that failed is tried again. */
const RETRY_AFTER = 5000;

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Where the keys are; undefined to ask the issuer's metadata. */
  readonly jwksUri: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  /** Told of each fetch that failed where the keys that are there serve on. */
  readonly onerror: (error: Error) => void;
}

/**
 * The keys of an issuer, fetched when they are first needed and kept for 10 minutes. A key that is not among them is looked
 * for anew at most every 30 seconds, and a fetch that failed is not repeated for 5: tokens that somebody made up do not turn
 * into requests to the issuer. Where a fetch fails, keys that are there serve on for at most an hour more, and a key that is
 * not among them fails. Whoever waits for a fetch that fails, or comes in the 5 seconds after it, gets the same error.
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

  /** @throws JWKSNoMatchingKey of `jose` where the issuer has no such key; Error where it cannot be asked. */
  readonly get: JWTVerifyGetKey = async (header, token) => {
    const { errors } = await import('jose');
    const keys = await this.#current();
    try {
      return await keys(header, token);
    } catch (error) {
      const unknown = error instanceof errors.JWKSNoMatchingKey;
      if (!unknown || Date.now() - this.#fetchedAt < COOLDOWN) throw error;
      return (await this.#fetch())(header, token);
    }
  };

  async #current(): Promise<LocalJWKSet> {
    const keys = this.#keys;
    const age = Date.now() - this.#fetchedAt;
    if (keys && age < MAX_AGE) return keys;
    if (!keys || age >= MAX_AGE + GRACE) return this.#fetch();
    // In an outage nobody waits until the next attempt has failed: that may take as long as a fetch may.
    const isOutage = this.#failure !== undefined;
    const fetched = this.#fetch().catch((error: unknown) => {
      this.#report(error as Error);
      return keys;
    });
    return isOutage ? keys : fetched;
  }

  /** Each failure once, however many were spared by the keys that are there. */
  #report(error: Error): void {
    if (this.#reported === error) return;
    this.#reported = error;
    this.#options.onerror(error);
  }

  #fetch(): Promise<LocalJWKSet> {
    if (this.#failure && Date.now() - this.#failure.at < RETRY_AFTER) return Promise.reject(this.#failure.error);
    return (this.#pending ??= this.#load().finally(() => (this.#pending = undefined)));
  }

  async #load(): Promise<LocalJWKSet> {
    try {
      const { createLocalJWKSet } = await import('jose');
      const { issuer, jwksUri, fetch } = this.#options;
      const url = secureUrl(jwksUri ?? (await discover(fetch, issuer)), 'jwks_uri');
      const keys = createLocalJWKSet((await fetchJson(fetch, url)) as { keys: [] });
      this.#failure = undefined;
      this.#fetchedAt = Date.now();
      return (this.#keys = keys);
    } catch (error) {
      this.#failure = { error, at: Date.now() };
      throw error;
    }
  }
}

/**
 * Where the keys of an issuer are, by its metadata (2026-07-28, basic/authorization: Authorization Server Metadata
 * Discovery).
 */
async function discover(fetch: typeof globalThis.fetch, issuer: string): Promise<string> {
  const url = identifierUrl(issuer, 'issuer');
  const places = [wellKnown(url, 'oauth-authorization-server'), wellKnown(url, 'openid-configuration')];
  if (url.pathname !== '/') places.push(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const failures: unknown[] = [];
  for (const place of places) {
    let metadata: JsonObject;
    try {
      metadata = await fetchJson(fetch, new URL(place));
    } catch (error) {
      failures.push(error);
      continue;
    }
    // RFC 8414, section 3.3.
    if (metadata['issuer'] !== issuer) throw new Error(`${place}: the metadata is of another issuer`);
    if (typeof metadata['jwks_uri'] !== 'string') throw new Error(`${place}: the metadata names no jwks_uri`);
    return metadata['jwks_uri'];
  }
  throw new AggregateError(failures, failures.map((error) => (error as Error).message).join('; '));
}
