import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Meta } from '../../protocol/methods.ts';

/** An object without one key of its `_meta`, and without a `_meta` that is empty then. Often the same object. */
export function withoutMeta(value: JsonObject, key: string): JsonObject {
  if (value['_meta']?.[key] === undefined) return value;
  const { [key]: _key, ...meta } = value['_meta'];
  const { _meta, ...rest } = value;
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest;
}

/** What a request of 2026-07-28 says of its sender and of its stream (2026-07-28, basic: _meta). */
const OF_ITS_SENDER = [
  Meta.ProtocolVersion,
  Meta.ClientInfo,
  Meta.ClientCapabilities,
  Meta.LogLevel,
  Meta.SubscriptionId,
];

/**
 * Parameters without what their sender said of itself in them. Often the same object. A server that speaks 2026-07-28 too
 * would take a request with it for one of that revision.
 */
export function withoutSender(params: JsonObject): JsonObject {
  const meta: unknown = params['_meta'];
  if (!isObject(meta) || !OF_ITS_SENDER.some((key) => meta[key] !== undefined)) return params;
  return OF_ITS_SENDER.reduce(withoutMeta, params);
}
