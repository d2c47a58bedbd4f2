import type { Authorizer } from '../../transport/http/client/authorizer.ts';
import { Refusals } from '../../transport/http/client/refusals.ts';

/**
 * A `fetch` that adds the authorizer's headers to each request, and retries a refused request if new credentials can
 * help. Use it with HTTP clients that have no authorization of their own. Bodies must be repeatable, so streams and
 * `Request` objects are not accepted. Redirects are not followed, so that credentials do not reach another server.
 *
 * @param fetch sends the requests. Default: the global `fetch`.
 * @throws TypeError for a stream or a `Request`; any error of the authorizer.
 */
export function authorizedFetch(authorizer: Authorizer, fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (input, init = {}) => {
    if (typeof input !== 'string' && !(input instanceof URL)) throw new TypeError('fetch needs a URL, not a Request');
    if (init.body instanceof ReadableStream)
      throw new TypeError('The body must be text or bytes, because a stream cannot be sent again');
    const url = new URL(input);
    const method = (init.method ?? 'GET').toUpperCase() as 'GET' | 'POST' | 'DELETE';
    const signal = init.signal ?? undefined;
    const refusals = new Refusals(authorizer);
    for (;;) {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(await authorizer.headers({ method, url }, signal))) {
        headers.set(name, value);
      }
      const response = await fetch(url, { redirect: 'manual', ...init, headers });
      const sent = Object.fromEntries(headers);
      const reply = { status: response.status, header: (name: string) => response.headers.get(name) ?? undefined };
      if (!(await refusals.retry({ method, url, headers: sent }, reply, signal))) return response;
      await response.body?.cancel();
    }
  };
}
