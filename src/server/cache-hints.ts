import type { JsonObject } from '../jsonrpc/message.ts';

/** How long, and for whom, a client may keep a result (2026-07-28, server/utilities/caching: Cacheable Model). */
export interface CacheHints {
  /** Milliseconds for which the result is fresh; 0 means that it is stale at once. Default 0. */
  ttlMs?: number | undefined;
  /** `public` where the result is the same for every caller: it may be kept and served to anybody. Default `private`. */
  cacheScope?: 'public' | 'private' | undefined;
}

/**
 * The hints as a result carries them; what is not given is absent.
 *
 * @throws TypeError where `ttlMs` is no integer from 0 on, or `cacheScope` is neither `public` nor `private`.
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
