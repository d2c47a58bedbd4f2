import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/**
 * The most memory for what a client says about itself, in bytes (estimated). Each session keeps this, and there may be
 * thousands of sessions.
 */
export const MAX_DESCRIPTION = 32 * 1024;

/** Whether a client's capabilities and information about itself are larger than `MAX_DESCRIPTION`. */
export function isTooLarge(capabilities: JsonObject, clientInfo: unknown): boolean {
  return weightOf([capabilities, clientInfo], MAX_DESCRIPTION) > MAX_DESCRIPTION;
}
