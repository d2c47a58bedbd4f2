import type { JsonObject } from '../../jsonrpc/message.ts';
import { canonicalJson } from '../../jsonrpc/shape.ts';
import type { Exchange } from './exchange.ts';
import type { SeenRequest } from './requests.ts';

/** Whether a request of the server is one that it has sent before on another stream. */
export function isBroadcast(
  before: SeenRequest | undefined,
  exchange: Exchange | undefined,
  { method, params }: JsonObject,
): boolean {
  if (!before?.params || exchange === undefined || before.exchange === exchange.key || before.method !== method)
    return false;
  return canonicalJson(before.params) === canonicalJson(params ?? {});
}
