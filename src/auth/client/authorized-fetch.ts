import { demandedScopes, type Authorizer } from '../../transport/http/client/authorizer.ts';

/** The most times that one request is retried. The authorizer has its own limits and reports which one was reached. */
const MAX_RETRIES = 20;

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
    let demanded: string | undefined;
    for (let retries = 0; ; retries++) {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(await authorizer.headers({ method, url }, signal))) {
        headers.set(name, value);
      }
      const response = await fetch(url, { redirect: 'manual', ...init, headers });
      if ((response.status !== 401 && response.status !== 403) || retries === MAX_RETRIES) return response;
      const sent = Object.fromEntries(headers);
      const reply = { status: response.status, header: (name: string) => response.headers.get(name) ?? undefined };
      const scopes = demandedScopes(reply);
      demanded ??= scopes;
      // Else a hostile server could have a person log in again and again.
      if (scopes !== undefined && scopes !== demanded) return response;
      if (!(await authorizer.refused({ method, url, headers: sent }, reply, signal))) return response;
      await response.body?.cancel();
    }
  };
}
