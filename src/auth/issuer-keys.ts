import type { JWTVerifyGetKey, LocalJWKSet } from 'jose';
import type { JsonObject } from '../jsonrpc/message.ts';
import { fetchJson } from './fetch-json.ts';
import { identifierUrl, secureUrl, wellKnown } from './urls.ts';

/** Milliseconds for which keys are used before they are fetched again. */
const MAX_AGE = 10 * 60_000;
/** Milliseconds between two fetches for the sake of a key that is not known. */
const COOLDOWN = 30_000;
/** Milliseconds after which a fetch that failed is tried again. */
const RETRY_AFTER = 5000;

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Where the keys are; undefined to ask the issuer's metadata. */
  readonly jwksUri: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

/**
 * The keys of an issuer, fetched when they are first needed and kept for 10 minutes. A key that is not among them is looked
 * for anew at most every 30 seconds, and a fetch that failed is not repeated for 5: tokens that somebody made up do not turn
 * into requests to the issuer.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: LocalJWKSet | undefined;
  #fetchedAt = 0;
  #failure: { readonly error: unknown; readonly at: number } | undefined;
  #pending: Promise<LocalJWKSet> | undefined;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** @throws JWKSNoMatchingKey of `jose` where the issuer has no such key; Error where it cannot be asked. */
  readonly get: JWTVerifyGetKey = async (header, token) => {
    const { errors } = await import('jose');
    const keys = this.#keys && Date.now() - this.#fetchedAt < MAX_AGE ? this.#keys : await this.#fetch();
    try {
      return await keys(header, token);
    } catch (error) {
      const unknown = error instanceof errors.JWKSNoMatchingKey;
      if (!unknown || Date.now() - this.#fetchedAt < COOLDOWN) throw error;
      return (await this.#fetch())(header, token);
    }
  };

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
