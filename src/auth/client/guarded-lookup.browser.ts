import { isLoopback } from '../../transport/http/server/access/guards.ts';
import type { Reach } from './addresses.ts';

/** Replaces `guarded-lookup.ts` in browsers, which resolve names themselves. */
export function guardedLookup(): undefined {}

/** A browser lets a page read only what a server allows, so only loopback matters: it needs no https. */
export function literalReach(hostname: string): Reach | undefined {
  return isLoopback(hostname) ? 'loopback' : undefined;
}

/** A page cannot tell a server that is down from a 404 without CORS headers. */
export const HIDES_RESPONSES = true;
