import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';

/** The largest size of a client's parameters of `initialize`, in characters of JSON. */
const MAX_HELLO = 64 * 1024;

/** Says what is wrong with the parameters of `initialize`. Undefined if nothing is. */
export function wrongInitialize({ protocolVersion, capabilities, clientInfo }: JsonObject): string | undefined {
  if (typeof protocolVersion !== 'string') return 'initialize needs a string "protocolVersion"';
  if (!isObject(capabilities)) return 'initialize needs an object "capabilities"';
  if (!isObject(clientInfo) || typeof clientInfo['name'] !== 'string' || typeof clientInfo['version'] !== 'string') {
    return 'initialize needs "clientInfo" with a string "name" and a string "version"';
  }
  // The parameters are kept for the whole session, so their size is limited.
  return exceeds({ capabilities, clientInfo }, MAX_HELLO)
    ? `"capabilities" and "clientInfo" are larger than ${MAX_HELLO} characters`
    : undefined;
}

function exceeds(value: JsonObject, length: number): boolean {
  try {
    return JSON.stringify(value).length > length;
  } catch {
    // The value is nested deeper than the call stack allows.
    return true;
  }
}
