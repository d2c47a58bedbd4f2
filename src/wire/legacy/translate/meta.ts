import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Meta } from '../../../protocol/methods.ts';

/** Removes one key from `_meta`, and `_meta` itself if it is empty then. Often returns the same object. */
export function withoutMeta(value: JsonObject, key: string): JsonObject {
  if (value['_meta']?.[key] === undefined) return value;
  const { [key]: _key, ...meta } = value['_meta'];
  const { _meta, ...rest } = value;
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest;
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
  const meta: unknown = params['_meta'];
  if (!isObject(meta) || !OF_ITS_SENDER.some((key) => meta[key] !== undefined)) return params;
  return OF_ITS_SENDER.reduce(withoutMeta, params);
}
