/** The era of a revision: `modern` has neither handshake nor session (2026-07-28, versioning: Terminology). */
export type Era = 'legacy' | 'modern';

/**
 * How messages reach a server: over a connection of its own (stdio, memory, custom), or over one of the two HTTP
 * transports.
 */
export type UpstreamRoute = 'connection' | 'streamable-http' | 'http+sse';

/** How a server was reached. */
export interface CachedEra {
  readonly era: Era;
  readonly route: UpstreamRoute;
}

/**
 * Remembers how servers were reached, so that the next connection needs no probe (2026-07-28, versioning: Backward
 * Compatibility). The caller gives the keys: the origin and path of a URL, or a command with its arguments. An entry is a
 * hint: a wrong one is detected and replaced. If either function throws, the error is reported, and the connection is made
 * without the cache.
 */
export interface EraCache {
  /** The entry that was set last. Undefined if there is none. */
  get(key: string): CachedEra | undefined | Promise<CachedEra | undefined>;
  /** Sets an entry. It replaces the previous one. */
  set(key: string, entry: CachedEra): void | Promise<void>;
}

/** How many servers are remembered. Above this, the entry that was set first is dropped. */
const MAX_SERVERS = 1000;

/** An era cache that lives as long as the process. */
export function memoryEraCache(): EraCache {
  const entries = new Map<string, CachedEra>();
  return {
    get: (key) => entries.get(key),
    set: (key, entry) => {
      entries.delete(key);
      entries.set(key, entry);
      if (entries.size <= MAX_SERVERS) return;
      const [oldest] = entries.keys();
      entries.delete(oldest!);
    },
  };
}
