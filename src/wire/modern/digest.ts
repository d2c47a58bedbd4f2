import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';

/** A short name for a JSON value, the same whatever the order of its keys. 128 bits. */
export function digest(...values: unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify(values.map(ordered)))
    .digest()
    .subarray(0, 16)
    .toString('base64url');
}

/** The salient parameters of a request: those that are the same in each round (2026-07-28, patterns/mrtr). */
export function requestDigest(method: string, params: JsonObject): string {
  const { _meta, inputResponses: _responses, requestState: _state, ...salient } = params;
  return digest(method, salient);
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, ordered(value[key])]),
  );
}
