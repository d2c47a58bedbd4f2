import { causesOf } from '../jsonrpc/causes.ts';

/** Statuses that say nothing of what the server understands: who asks, how much, how often, how long. */
const NO_EVIDENCE: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 413, 425, 429, 431]);

/**
 * Whether an error is that of a status by which a server says that it does not understand, as one of another era would. What
 * was asked did not run then.
 */
export function saysForeign(error: unknown): boolean {
  for (const each of causesOf(error)) {
    if (!('status' in each) || typeof each.status !== 'number') continue;
    return each.status >= 400 && each.status < 500 && !NO_EVIDENCE.has(each.status);
  }
  return false;
}
