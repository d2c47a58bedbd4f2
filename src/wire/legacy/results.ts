import type { JsonObject } from '../../jsonrpc/message.ts';
import { Meta } from '../../protocol/methods.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { shapeContent } from './content.ts';
import { withoutMeta } from './meta.ts';
import { shapeOutput } from './output.ts';

/**
 * A result of the waist as a handshake revision knows it: without what only the newest revision has, and with content
 * and output that it knows. Often the same object.
 */
export function toLegacyResult(result: JsonObject, profile: RevisionProfile): JsonObject {
  return shapeOutput(shapeContent(withoutNewest(result), profile), profile);
}

function withoutNewest(result: JsonObject): JsonObject {
  const bare = withoutMeta(result, Meta.ServerInfo);
  if (bare['resultType'] === undefined && bare['ttlMs'] === undefined && bare['cacheScope'] === undefined) return bare;
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = bare;
  return rest;
}

/** The answer to `initialize`, from a service's description of itself (2025-11-25, basic/lifecycle: Initialization). */
export function toInitializeResult(discovered: JsonObject, revision: string): JsonObject {
  return {
    protocolVersion: revision,
    capabilities: discovered['capabilities'] ?? {},
    serverInfo: discovered['_meta']?.[Meta.ServerInfo] ?? { name: 'unnamed', version: '0' },
    ...(discovered['instructions'] === undefined ? {} : { instructions: discovered['instructions'] }),
  };
}
