import type { JsonObject } from '../jsonrpc/message.ts';

/**
 * The most characters of JSON in which a client may describe itself. The description is stored, sorted and passed on.
 */
export const MAX_DESCRIPTION = 64 * 1024;

/** Whether a client's capabilities and information about itself are larger than `MAX_DESCRIPTION`. */
export function isTooLarge(capabilities: JsonObject, clientInfo: unknown): boolean {
  try {
    return JSON.stringify({ capabilities, clientInfo }).length > MAX_DESCRIPTION;
  } catch {
    // The value is nested deeper than the call stack allows.
    return true;
  }
}
