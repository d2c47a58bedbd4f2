import { isPrincipal } from '../base/principal.ts';
import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/server/call.ts';

/**
 * Identifies the caller that an access token belongs to. It must check that the token was issued for this server
 * (2026-07-28, basic/authorization: Token Handling). It is called for each HTTP request, so cache expensive results, but
 * not longer than the token is valid.
 *
 * If the token is not valid, resolve with undefined or reject with `InvalidToken`: the client gets status 401. If it
 * cannot be checked now, reject with any other error: the client gets status 503, and the error is reported without the
 * token.
 */
export type TokenVerifier = (token: string, call: HttpCall) => AuthInfo | undefined | Promise<AuthInfo | undefined>;

/** The token is not valid. The message is sent to the client, so it must not contain secrets. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** @throws TypeError if the verifier returned no principal, no scopes, or an expiry time that is not in seconds. */
export function checkAuthInfo(auth: AuthInfo): AuthInfo {
  if (!isPrincipal(auth.principal)) throw new TypeError('verify returned no principal');
  if (!Array.isArray(auth.scopes)) throw new TypeError('verify returned no scopes');
  const { expiresAt = 0 }: { readonly expiresAt?: unknown } = auth;
  // Text and invalid numbers never compare as over.
  if (typeof expiresAt !== 'number' || Number.isNaN(expiresAt))
    throw new TypeError('verify returned an expiresAt that is not in seconds');
  return auth;
}
