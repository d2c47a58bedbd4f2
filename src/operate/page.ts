import type { HttpCall, HttpHeaders } from '../transport/http/server/call.ts';
import type { HttpPage } from '../transport/http/server/handler.ts';

const ALLOWED = 'GET, HEAD';

/** Responds with a page that must not be cached. */
export function respondText(call: HttpCall, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  if (call.method !== 'GET' && call.method !== 'HEAD') return call.respond(405, { allow: ALLOWED });
  const headers: HttpHeaders = {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
  call.respond(status, headers, body);
}

/**
 * Pages by their paths, for the option `pages` of a handler: `pagesAt({ '/metrics': metrics.page(), ...health.pages })`.
 *
 * @throws TypeError for a path that does not begin with a slash.
 */
export function pagesAt(pages: Readonly<Record<string, HttpPage>>): (path: string) => HttpPage | undefined {
  const all = new Map(Object.entries(pages));
  for (const path of all.keys()) {
    if (!path.startsWith('/')) throw new TypeError(`A path must begin with a slash: ${JSON.stringify(path)}`);
  }
  return (path) => all.get(path);
}
