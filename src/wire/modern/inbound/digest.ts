import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { canonicalJson } from '../../../jsonrpc/shape.ts';

/** A 128-bit digest of JSON values. The order of keys does not matter. */
export function digest(...values: unknown[]): string {
  return createHash('sha256').update(canonicalJson(values)).digest().subarray(0, 16).toString('base64url');
}

/** A digest of the parameters that are the same in each round of a request (2026-07-28, patterns/mrtr). */
export function requestDigest(method: string, params: JsonObject): string {
  const { _meta, inputResponses: _responses, requestState: _state, ...salient } = params;
  return digest(method, salient);
}
