import type { AuthInfo } from '../protocol/types.ts';
import type { HttpCall } from '../transport/http/call.ts';

/**
 * Finds out whose an access token is. Called for each HTTP request; what costs much to find out should be remembered, for
 * no longer than the token is good. Must look whether the token was issued for this server (2026-07-28,
 * basic/authorization: Token Handling).
 *
 * Resolves with undefined, or rejects with `InvalidToken`, where the token is no good: status 401. Rejects with anything
 * else where that cannot be found out now: status 503, and the error is reported without the token.
 */
export type TokenVerifier = (token: string, call: HttpCall) => AuthInfo | undefined | Promise<AuthInfo | undefined>;

/** A token that is no good. The message tells the client why, so it is a sentence for people and holds nothing secret. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** @throws TypeError where a verifier returns what would let anybody in as nobody. */
export function checkAuthInfo(auth: AuthInfo): AuthInfo {
  if (typeof auth.principal !== 'string' || auth.principal === '') throw new TypeError('verify returned no principal');
  if (!Array.isArray(auth.scopes)) throw new TypeError('verify returned no scopes');
  return auth;
}
