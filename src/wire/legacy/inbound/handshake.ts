import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { isTooLarge, MAX_DESCRIPTION } from '../../client-description.ts';

/** Returns what is wrong with the parameters of `initialize`. Undefined if they are valid. */
export function wrongInitialize({ protocolVersion, capabilities, clientInfo }: JsonObject): string | undefined {
  if (typeof protocolVersion !== 'string') return 'initialize needs a string "protocolVersion"';
  if (!isObject(capabilities)) return 'initialize needs an object "capabilities"';
  if (!isObject(clientInfo) || typeof clientInfo['name'] !== 'string' || typeof clientInfo['version'] !== 'string') {
    return 'initialize needs "clientInfo" with a string "name" and a string "version"';
  }
  return isTooLarge(capabilities, clientInfo)
    ? `"capabilities" and "clientInfo" are larger than ${MAX_DESCRIPTION} bytes in memory`
    : undefined;
}
