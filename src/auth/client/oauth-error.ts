import { scrubber } from '../scrub.ts';

/**
 * Why no access token can be had:
 *
 * - `blocked`: an address may not be asked; see `GuardedHttp`.
 * - `unreachable`: it was asked, and there was no answer, or one too large.
 * - `discovery`: metadata is missing, or is not what the specification wants.
 * - `resource_mismatch`, `issuer_mismatch`: metadata or a response is somebody else's.
 * - `pkce_unsupported`: the authorization server does not say that it knows S256.
 * - `registration`: there is no way to get a client id, or it was refused.
 * - `authorization`: the user, or the authorization server in their browser, said no, or what came back is not an answer.
 * - `token`: the token endpoint refused.
 * - `insufficient_scope`: a server asks again for scopes that were asked for already.
 * - `rejected`: a server refuses tokens that were issued for it just now.
 * - `timeout`: the user, or what the application asks for an assertion, did not answer in time.
 */
export type OAuthErrorCode =
  | 'authorization'
  | 'blocked'
  | 'discovery'
  | 'insufficient_scope'
  | 'issuer_mismatch'
  | 'pkce_unsupported'
  | 'registration'
  | 'rejected'
  | 'resource_mismatch'
  | 'timeout'
  | 'token'
  | 'unreachable';

/** An access token cannot be had. Its message names the reason, and never a token, a code, a key or a secret. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;
  /** The `error` of an authorization server (RFC 6749, sections 4.1.2.1 and 5.2): `invalid_grant`, `access_denied`. */
  readonly error: string | undefined;

  constructor(code: OAuthErrorCode, message: string, options: ErrorOptions & { error?: string } = {}) {
    super(message, options);
    this.code = code;
    this.error = options.error;
  }
}

/** Characters of what an authorization server says for people. */
const MAX_DESCRIPTION = 300;

/**
 * What an authorization server says of an error, in one line, without the secrets that it may have been told.
 *
 * @param description goes to people as it is: it may say anything.
 */
export function described(error: string, description: unknown, secrets: readonly string[]): string {
  const text = typeof description === 'string' && description !== '' ? `${error}: ${description}` : error;
  const clean = scrubber(secrets)(text).replace(/[^\x20-\x7e\u00a0-\uffff]+/g, ' ');
  return clean.length > MAX_DESCRIPTION ? `${clean.slice(0, MAX_DESCRIPTION)}…` : clean;
}
