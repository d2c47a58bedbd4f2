import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';

/** The most keys of an object that is checked. Its copies for the server take long if it has more. */
const MAX_KEYS = 1000;
/** The longest key that is compared, in characters. No key of MCP is nearly as long. */
const MAX_KEY = 200;

/**
 * Some servers ignore case when they read a key, or accept `task_id` for `taskId`. So a caller could send one value
 * for the bridge to check, and another one for the server.
 *
 * @throws RpcError −32602 if the object has a key that such a server could take for this one, too many keys, or
 * a key that is too long to be compared.
 */
export function refuseVariants(object: JsonObject, name: string): void {
  const keys = Object.keys(object);
  if (keys.length > MAX_KEYS || keys.some(({ length }) => length > MAX_KEY)) {
    const why = `an object with "${name}" must not have more than ${MAX_KEYS} keys, of ${MAX_KEY} characters each`;
    throw new RpcError(ErrorCode.InvalidParams, why);
  }
  for (const key of keys) {
    // Upper case first, because letters such as ſ become plain letters only in upper case.
    const letters = key
      .toUpperCase()
      .toLowerCase()
      .replaceAll(/[^a-z]/g, '');
    if (key !== name && letters === name.toLowerCase())
      throw new RpcError(ErrorCode.InvalidParams, `${JSON.stringify(key)} is not accepted; write "${name}"`);
  }
}
