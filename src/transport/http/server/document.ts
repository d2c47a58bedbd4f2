import type { JsonObject } from '../../../jsonrpc/message.ts';
import type { HttpCall, HttpHeaders } from './call.ts';
import { JSON_HEADERS } from './access/refusal-format.ts';
import { methodNotAllowed } from './access/refusals.ts';

const METHODS = 'GET, HEAD, OPTIONS';
/** Clients in a browser read it before they know the authorization server. */
const ANY_ORIGIN: HttpHeaders = { 'access-control-allow-origin': '*' };
const PREFLIGHT: HttpHeaders = {
  ...ANY_ORIGIN,
  'access-control-allow-methods': METHODS,
  'access-control-allow-headers': '*',
  'access-control-max-age': '600',
};
const HEADERS: HttpHeaders = { ...JSON_HEADERS, ...ANY_ORIGIN, 'cache-control': 'public, max-age=3600' };

/** Responds with a public document that may be cached for an hour. */
export function respondDocument(call: HttpCall, document: JsonObject): void {
  if (call.method === 'OPTIONS') return call.respond(204, PREFLIGHT);
  if (call.method !== 'GET' && call.method !== 'HEAD') return methodNotAllowed(call, METHODS);
  call.respond(200, HEADERS, JSON.stringify(document));
}
