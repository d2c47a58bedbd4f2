import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { CACHEABLE, Meta, Method } from '../protocol/methods.ts';
import { isWithin } from '../protocol/subscriptions.ts';
import type { Change } from './handlers.ts';

/** The limits of a client's cache. */
export interface CacheOptions {
  /** The most results. Default 1000. */
  maxEntries?: number | undefined;
  /** The total size of all results, in characters of JSON. Default 16 Mi. */
  maxSize?: number | undefined;
}

/** The longest `ttlMs` that is honoured, in milliseconds. */
const MAX_TTL = 24 * 60 * 60 * 1000;

/** The lists that a change makes stale. */
const STALE: Readonly<Record<string, readonly string[]>> = {
  tools: [Method.ListTools],
  prompts: [Method.ListPrompts],
  resources: [Method.ListResources, Method.ListResourceTemplates],
};

interface Entry {
  readonly method: string;
  /** The URI, for `resources/read`. */
  readonly uri: unknown;
  /** Stored as JSON, because callers may change the object that they get. */
  readonly result: string;
  /** As in `Date.now()`. */
  readonly stored: number;
  readonly ttlMs: number;
}

/**
 * The cached results of one client, for as long as the server allows (2026-07-28, server/utilities/caching). A client
 * has one authorization context at a time, and clears the cache when it changes. So private results are cached like
 * public ones. Clients never share a cache.
 */
export class ResultCache {
  /** The oldest entry is first. */
  readonly #entries = new Map<string, Entry>();
  readonly #maxEntries: number;
  readonly #maxSize: number;
  #size = 0;
  /** Counts invalidations. A result that was requested before the last one may be stale too. */
  #generation = 0;

  constructor({ maxEntries = 1000, maxSize = 16 * 1024 * 1024 }: CacheOptions = {}) {
    this.#maxEntries = maxEntries;
    this.#maxSize = maxSize;
  }

  get generation(): number {
    return this.#generation;
  }

  /** The cache key of a request. Undefined if its result must not be cached. */
  keyOf(method: string, params: JsonObject): string | undefined {
    if (!CACHEABLE.has(method)) return undefined;
    const { _meta: meta, ...others } = params;
    // Retries depend on fields outside the key, and the effect of unknown metadata is unknown.
    if (others['inputResponses'] !== undefined || others['requestState'] !== undefined) return undefined;
    if (isObject(meta) && Object.keys(meta).some((key) => key !== Meta.ProgressToken)) return undefined;
    const sorted = Object.entries(others).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `${method} ${JSON.stringify(sorted)}`;
  }

  /** A copy of a fresh result. */
  get(key: string): JsonObject | undefined {
    const entry = this.#entries.get(key);
    if (entry) {
      const age = Date.now() - entry.stored;
      // If the clock was set back, its age is unknown.
      if (age >= 0 && age < entry.ttlMs) return JSON.parse(entry.result) as JsonObject;
    }
    this.#delete(key);
    return undefined;
  }

  /** Stores a result that may be cached. @param generation the generation when it was requested. */
  put(key: string, method: string, params: JsonObject, result: JsonObject, generation: number): void {
    const { ttlMs, resultType = 'complete' } = result;
    if (resultType !== 'complete' || !(typeof ttlMs === 'number' && ttlMs > 0)) return;
    if (generation !== this.#generation) return;
    const json = JSON.stringify(result);
    if (json.length > this.#maxSize) return;
    this.#delete(key);
    const entry = { method, uri: params['uri'], result: json, stored: Date.now(), ttlMs: Math.min(ttlMs, MAX_TTL) };
    this.#entries.set(key, entry);
    this.#size += json.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#size <= this.#maxSize) break;
      this.#delete(oldest);
    }
  }

  /**
   * A change makes the cached result stale at once (2026-07-28, server/utilities/caching: Interaction with
   * Notifications).
   */
  changed(change: Change): void {
    if (change.type === 'resource') {
      this.#drop(({ method, uri }) => method === Method.ReadResource && isWithin(change.uri, uri));
    } else if (change.type !== 'task') this.forget(...STALE[change.type]!);
  }

  /** Removes the results of these methods. Returns whether there were any. */
  forget(...methods: readonly string[]): boolean {
    return this.#drop(({ method }) => methods.includes(method));
  }

  clear(): void {
    this.#drop(() => true);
  }

  #drop(stale: (entry: Entry) => boolean): boolean {
    this.#generation += 1;
    const before = this.#entries.size;
    for (const [key, entry] of this.#entries) if (stale(entry)) this.#delete(key);
    return this.#entries.size < before;
  }

  #delete(key: string): void {
    this.#size -= this.#entries.get(key)?.result.length ?? 0;
    this.#entries.delete(key);
  }
}
