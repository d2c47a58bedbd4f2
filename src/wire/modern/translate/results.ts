import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { constant, isConstant } from '../../../jsonrpc/stringify.ts';
import { CACHEABLE, Meta, Method } from '../../../protocol/methods.ts';
import type { Implementation } from '../../../protocol/types.ts';

export interface ResultFrame {
  readonly serverInfo: Implementation | undefined;
  readonly supportedVersions: readonly string[];
}

/**
 * Adds the fields that this revision requires in each result (2026-07-28, basic: Result Responses, Per-response
 * protocol fields). A constant result is converted once.
 */
export class ResultShaper {
  readonly #frame: ResultFrame;
  /** The `_meta` of a result that has none of its own. */
  readonly #meta: JsonObject | undefined;
  readonly #made = new WeakMap<JsonObject, JsonObject>();

  constructor(frame: ResultFrame) {
    this.#frame = frame;
    this.#meta = frame.serverInfo && { [Meta.ServerInfo]: frame.serverInfo };
  }

  shape(result: JsonObject, method: string): JsonObject {
    const known = this.#made.get(result);
    if (known) return known;
    const made = this.#make(result, method);
    if (isConstant(result)) this.#made.set(result, constant(made));
    return made;
  }

  #make(result: JsonObject, method: string): JsonObject {
    const made: JsonObject = { resultType: 'complete', ...result };
    if (this.#meta) {
      const meta: unknown = result['_meta'];
      made['_meta'] = isObject(meta) ? { ...this.#meta, ...meta } : this.#meta;
    }
    if (made['resultType'] === 'complete' && CACHEABLE.has(method)) {
      made['ttlMs'] ??= 0;
      made['cacheScope'] ??= 'private';
    }
    // The supported versions are this side's own, whatever the service says.
    if (method === Method.Discover) made['supportedVersions'] = this.#frame.supportedVersions;
    return made;
  }
}
