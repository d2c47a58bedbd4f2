import { isObject, type JsonObject } from '../../jsonrpc/message.ts';

/** What a client may say of itself, in characters of JSON. */
const MAX_HELLO = 64 * 1024;

/** What is wrong with the parameters of `initialize`, if anything. */
export function wrongInitialize({ protocolVersion, capabilities, clientInfo }: JsonObject): string | undefined {
  if (typeof protocolVersion !== 'string') return 'initialize needs a string "protocolVersion"';
  if (!isObject(capabilities)) return 'initialize needs an object "capabilities"';
  if (!isObject(clientInfo) || typeof clientInfo['name'] !== 'string' || typeof clientInfo['version'] !== 'string') {
    return 'initialize needs "clientInfo" with a string "name" and a string "version"';
  }
  // They are kept as long as the session.
  return exceeds({ capabilities, clientInfo }, MAX_HELLO)
    ? `"capabilities" and "clientInfo" are larger than ${MAX_HELLO} characters`
    : undefined;
}

function exceeds(value: JsonObject, length: number): boolean {
  try {
    return JSON.stringify(value).length > length;
  } catch {
    // Nested deeper than the call stack.
    return true;
  }
}
