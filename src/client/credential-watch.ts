import type { Authorizer } from '../transport/http/client/authorizer.ts';

/**
 * An authorizer that reports when requests use a different credential than before: cached results may then belong to
 * another user (2026-07-28, server/utilities/caching: Cache Scope Field).
 */
export function watched(authorizer: Authorizer, onchange: () => void): Authorizer {
  let last: string | undefined;
  return {
    async headers(request, signal) {
      const headers = await authorizer.headers(request, signal);
      // A DPoP proof is different for each request, so it is ignored.
      const credential = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'dpop');
      const now = JSON.stringify(credential);
      if (now !== last) {
        last = now;
        onchange();
      }
      return headers;
    },
    get loginActiveUntil() {
      return authorizer.loginActiveUntil;
    },
    refused: (request, reply, signal) => authorizer.refused(request, reply, signal),
  };
}
