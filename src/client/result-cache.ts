import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { CACHEABLE, Meta, Method } from '../protocol/methods.ts';
import { isWithin } from '../protocol/subscriptions.ts';
import type { Change } from './handlers.ts';

/** Bounds of what a client keeps. */
export interface CacheOptions {
  /** Results. Default 1000. */
  maxEntries?: number | undefined;
  /** Characters of JSON, of all results. Default 16 Mi. */
  maxSize?: number | undefined;
}

/** Milliseconds: no hint is believed for longer. */
const MAX_TTL = 24 * 60 * 60 * 1000;

/** The lists that a change makes stale. */
const STALE: Readonly<Record<string, readonly string[]>> = {
  tools: [Method.ListTools],
  prompts: [Method.ListPrompts],
  resources: [Method.ListResources, Method.ListResourceTemplates],
};

interface Entry {
  readonly method: string;
  /** Of `resources/read`. */
  readonly uri: unknown;
  /** As JSON: whoever gets it may change it. */
  readonly result: string;
  readonly expires: number;
}

/**
 * The results of one client that their server said may be kept, for as long as it said (2026-07-28,
 * server/utilities/caching). A client acts for one authorization context at a time, and all is forgotten with a change of
 * that; so private results are kept as public ones are, and no two clients share anything.
 */
export class ResultCache {
  /** The one that was stored first comes first. */
  readonly #entries = new Map<string, Entry>();
  readonly #maxEntries: number;
  readonly #maxSize: number;
  #size = 0;
  /** Counts what has become stale: a result that was asked for before may be so too. */
  #generation = 0;

  constructor({ maxEntries = 1000, maxSize = 16 * 1024 * 1024 }: CacheOptions = {}) {
    this.#maxEntries = maxEntries;
    this.#maxSize = maxSize;
  }

  get generation(): number {
    return this.#generation;
  }

  /** What a request is known by; undefined where its result must not be kept. */
  keyOf(method: string, params: JsonObject): string | undefined {
    if (!CACHEABLE.has(method)) return undefined;
    const { _meta: meta, ...others } = params;
    // Retries depend on what is no part of the key, and what unknown metadata does is not known.
    if (others['inputResponses'] !== undefined || others['requestState'] !== undefined) return undefined;
    if (isObject(meta) && Object.keys(meta).some((key) => key !== Meta.ProgressToken)) return undefined;
    const sorted = Object.entries(others).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `${method} ${JSON.stringify(sorted)}`;
  }

  /** A fresh result, a copy of its own. */
  get(key: string): JsonObject | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (Date.now() < entry.expires) return JSON.parse(entry.result) as JsonObject;
    this.#delete(key, entry);
    return undefined;
  }

  /** Keeps a result that may be kept. @param generation of the time when it was asked for. */
  put(key: string, method: string, params: JsonObject, result: JsonObject, generation: number): void {
    const { ttlMs, resultType = 'complete' } = result;
    if (resultType !== 'complete' || !(typeof ttlMs === 'number' && ttlMs > 0)) return;
    if (generation !== this.#generation) return;
    const json = JSON.stringify(result);
    if (json.length > this.#maxSize || this.#maxEntries < 1) return;
    const before = this.#entries.get(key);
    if (before) this.#delete(key, before);
    const expires = Date.now() + Math.min(ttlMs, MAX_TTL);
    this.#entries.set(key, { method, uri: params['uri'], result: json, expires });
    this.#size += json.length;
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#maxEntries && this.#size <= this.#maxSize) break;
      this.#delete(oldest, entry);
    }
  }

  /** A change makes what is kept of it stale at once (2026-07-28, server/utilities/caching: Interaction with Notifications). */
  changed(change: Change): void {
    if (change.type === 'resource') {
      this.#drop(({ method, uri }) => method === Method.ReadResource && isWithin(change.uri, uri));
    } else if (change.type !== 'task') this.forget(...STALE[change.type]!);
  }

  /** Forgets the results of these methods; whether there were any. */
  forget(...methods: readonly string[]): boolean {
    return this.#drop(({ method }) => methods.includes(method));
  }

  clear(): void {
    this.#drop(() => true);
  }

  #drop(stale: (entry: Entry) => boolean): boolean {
    this.#generation += 1;
    const before = this.#entries.size;
    for (const [key, entry] of this.#entries) if (stale(entry)) this.#delete(key, entry);
    return this.#entries.size < before;
  }

  #delete(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#size -= entry.result.length;
  }
}
