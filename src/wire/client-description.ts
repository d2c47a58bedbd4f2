import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/**
 * The most bytes of memory (estimated) in which a client describes itself. Each session keeps that, and there may be
 * thousands.
 */
export const MAX_DESCRIPTION = 64 * 1024;

/** Whether a client's capabilities and information about itself are larger than `MAX_DESCRIPTION`. */
export function isTooLarge(capabilities: JsonObject, clientInfo: unknown): boolean {
  return weightOf([capabilities, clientInfo], MAX_DESCRIPTION) > MAX_DESCRIPTION;
}
