import type { HttpHeaders } from '../call.ts';

// Not in `refusals.ts`: that needs the parser, which not every server loads.

export const JSON_HEADERS: HttpHeaders = { 'content-type': 'application/json' };
/** The code for errors without a JSON-RPC code of their own (implementation-defined range). */
export const REFUSED = -32000;

/** A text of a client, for `onrefusal`: at most 100 characters. */
export function reported<T extends string | undefined>(text: T): T {
  return text?.slice(0, 100) as T;
}
