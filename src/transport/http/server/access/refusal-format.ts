import type { HttpBody, HttpCall, HttpHeaders } from '../call.ts';

// Not in `refusals.ts`: that needs the parser, which not every server loads.

export const JSON_HEADERS: HttpHeaders = { 'content-type': 'application/json' };
/** The code for errors without a JSON-RPC code of their own (implementation-defined range). */
export const REFUSED = -32000;

/** Responds to a request. With status 503 nothing was done for it, so that the client can send it again soon. */
export function respondWith(call: HttpCall, status: number, headers: HttpHeaders, body: HttpBody): void {
  if (status !== 503) return call.respond(status, headers, body);
  call.refused('store_unavailable', status);
  call.respond(status, { ...headers, 'retry-after': '1' }, body);
}

/** A text of a client, for `onrefusal`: at most 100 characters. */
export function reported<T extends string | undefined>(text: T): T {
  return text?.slice(0, 100) as T;
}
