import type { Authorizer } from '../transport/http/client/authorizer.ts';

/**
 * An authorizer that tells when requests go out with another credential than those before: what was kept of results may be
 * somebody else's then (2026-07-28, server/utilities/caching: Cache Scope Field).
 */
export function watched(authorizer: Authorizer, onchange: () => void): Authorizer {
  let last: string | undefined;
  return {
    async headers(request, signal) {
      const headers = await authorizer.headers(request, signal);
      // A proof of DPoP is another for each request, whoever makes it.
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
