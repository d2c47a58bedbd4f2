import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { without } from '../jsonrpc/shape.ts';
import { Meta } from '../protocol/methods.ts';

/** Removes keys from `_meta`, and `_meta` itself if it is empty then. Returns the same object if nothing changes. */
export function withoutMeta(value: JsonObject, ...keys: readonly string[]): JsonObject {
  const { _meta: meta }: JsonObject = value;
  if (!isObject(meta)) return value;
  const left = without(meta, keys);
  if (left === meta) return value;
  if (Object.keys(left).length > 0) return { ...value, _meta: left };
  const { _meta, ...rest } = value;
  return rest;
}

/** The `_meta` keys that describe a request's sender and stream (2026-07-28, basic: _meta). */
const OF_ITS_SENDER = [
  Meta.ProtocolVersion,
  Meta.ClientInfo,
  Meta.ClientCapabilities,
  Meta.LogLevel,
  Meta.SubscriptionId,
];

/**
 * Removes the `_meta` keys that describe the sender. A server that also speaks 2026-07-28 would take a request with
 * these keys for one of that revision. Often returns the same object.
 */
export function withoutSender(params: JsonObject): JsonObject {
  return withoutMeta(params, ...OF_ITS_SENDER);
}
