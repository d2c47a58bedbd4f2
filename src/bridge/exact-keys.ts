import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';

/**
 * Some servers ignore case when they read a key, or accept `task_id` for `taskId`. So a caller could send one value
 * for the bridge to check, and another one for the server.
 *
 * @throws RpcError −32602 if the object has a key that such a server could take for this one.
 */
export function refuseVariants(object: JsonObject, name: string): void {
  for (const key of Object.keys(object)) {
    // Upper case first, because letters such as ſ become plain letters only in upper case.
    const letters = key
      .toUpperCase()
      .toLowerCase()
      .replaceAll(/[^a-z]/g, '');
    if (key !== name && letters === name.toLowerCase())
      throw new RpcError(ErrorCode.InvalidParams, `${JSON.stringify(key)} is not accepted; write "${name}"`);
  }
}
