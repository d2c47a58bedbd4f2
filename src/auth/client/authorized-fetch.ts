import type { Authorizer } from '../../transport/http/client/authorizer.ts';

/** How often one request is sent again. The authorizer has limits of its own, and can say why it gives up. */
const MAX_RETRIES = 20;

/**
 * A `fetch` whose requests carry what the authorizer gives, and are sent again where that changes a refusal: for HTTP
 * clients that know nothing of authorization. A body must be something that can be sent twice, no stream; `Request` objects
 * are not taken. Redirects are not followed: a credential must not go where it was not meant to.
 *
 * @param fetch sends the requests. Default: the global one.
 * @throws TypeError for a stream or a `Request`; what the authorizer throws.
 */
export function authorizedFetch(authorizer: Authorizer, fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (input, init = {}) => {
    if (typeof input !== 'string' && !(input instanceof URL))
      throw new TypeError('Give the address, and not a Request');
    if (init.body instanceof ReadableStream) throw new TypeError('A stream cannot be sent again: give a text or bytes');
    const url = new URL(input);
    const method = (init.method ?? 'GET').toUpperCase() as 'GET' | 'POST' | 'DELETE';
    const signal = init.signal ?? undefined;
    for (let retries = 0; ; retries++) {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(await authorizer.headers({ method, url }, signal))) {
        headers.set(name, value);
      }
      const response = await fetch(url, { redirect: 'manual', ...init, headers });
      if ((response.status !== 401 && response.status !== 403) || retries === MAX_RETRIES) return response;
      const sent = Object.fromEntries(headers);
      const reply = { status: response.status, header: (name: string) => response.headers.get(name) ?? undefined };
      if (!(await authorizer.refused({ method, url, headers: sent }, reply, signal))) return response;
      await response.body?.cancel();
    }
  };
}
