import type { JsonObject } from '../../jsonrpc/message.ts';

/** An object without one key of its `_meta`, and without a `_meta` that is empty then. Often the same object. */
export function withoutMeta(value: JsonObject, key: string): JsonObject {
  if (value['_meta']?.[key] === undefined) return value;
  const { [key]: _key, ...meta } = value['_meta'];
  const { _meta, ...rest } = value;
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest;
}
