import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';

/**
 * The most memory for what a client says about itself, in bytes (estimated). Each session keeps this, and there may be
 * thousands of sessions.
 */
export const MAX_DESCRIPTION = 64 * 1024;
/** The most memory for the descriptions of the clients of all sessions together, in bytes. */
export const MAX_DESCRIPTIONS = 64 * 1024 * 1024;
/** A description of this size is always accepted. Those of usual clients are smaller. Bytes. */
export const FREE_DESCRIPTION = 8 * 1024;

/** The memory of a client's capabilities and information about itself. If it is more than `MAX_DESCRIPTION`, it may be more still. */
export function descriptionBytes(capabilities: JsonObject, clientInfo: unknown): number {
  return weightOf([capabilities, clientInfo], MAX_DESCRIPTION);
}

/** Whether a client's capabilities and information about itself are larger than `MAX_DESCRIPTION`. */
export function isTooLarge(capabilities: JsonObject, clientInfo: unknown): boolean {
  return descriptionBytes(capabilities, clientInfo) > MAX_DESCRIPTION;
}
