import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/**
 * The most memory for what a server says about itself, in bytes (estimated). Each connection keeps this, and a bridge may
 * have a hundred connections to a server.
 */
const MAX_DESCRIPTION = 1024 * 1024;

/** @throws RpcError if a server's capabilities, instructions and information about itself are too large together. */
export function checkServerDescription(result: JsonObject): void {
  if (weightOf(result, MAX_DESCRIPTION) > MAX_DESCRIPTION) {
    throw new RpcError(
      ErrorCode.InternalError,
      `The server says too much about itself: its capabilities and instructions need more than ${MAX_DESCRIPTION} bytes`,
    );
  }
}
