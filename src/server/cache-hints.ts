import type { JsonObject } from '../jsonrpc/message.ts';

/**
 * How long a client may cache a result, and who may share it (2026-07-28, server/utilities/caching: Cacheable Model).
 */
export interface CacheHints {
  /** How long the result is fresh, in milliseconds. 0: it is stale at once. Default 0. */
  ttlMs?: number | undefined;
  /** `public`: the result is the same for every caller, so shared caches may store it. Default `private`. */
  cacheScope?: 'public' | 'private' | undefined;
}

/**
 * The hints as fields of a result. Hints that are not given are omitted.
 *
 * @throws TypeError if `ttlMs` is not an integer of at least 0, or `cacheScope` is neither `public` nor `private`.
 */
export function cacheHints({ ttlMs, cacheScope }: CacheHints, owner: string): JsonObject {
  const hints: JsonObject = {};
  if (ttlMs !== undefined) {
    if (!Number.isSafeInteger(ttlMs) || ttlMs < 0)
      throw new TypeError(`${owner}: ttlMs must be a whole number of milliseconds, 0 or more`);
    hints['ttlMs'] = ttlMs;
  }
  if (cacheScope !== undefined) {
    if (cacheScope !== 'public' && cacheScope !== 'private')
      throw new TypeError(`${owner}: cacheScope must be "public" or "private"`);
    hints['cacheScope'] = cacheScope;
  }
  return hints;
}
