import { printableLine, printableMessage } from '../../base/printable.ts';
import { cutText } from '../../base/short-text.ts';
import { scrubber } from '../scrub.ts';

/**
 * Why the client could not get an access token:
 *
 * - `blocked`: the client must not send requests to this address; see `GuardedHttp`.
 * - `unreachable`: there was no response, or it was too large.
 * - `discovery`: metadata is missing, or violates the specification.
 * - `resource_mismatch`, `issuer_mismatch`: metadata or a response belongs to another resource or issuer.
 * - `pkce_unsupported`: the authorization server does not declare support for S256.
 * - `registration`: the client cannot get a client id, or the registration was refused.
 * - `authorization`: the user or the authorization server denied the request, or the response is malformed.
 * - `token`: the token endpoint refused the request.
 * - `insufficient_scope`: a server requests scopes again that the client has already requested.
 * - `rejected`: a server refuses tokens that were just issued for it.
 * - `timeout`: the user, or the application's assertion source, did not respond in time.
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

/**
 * The client could not get an access token. The message gives the reason, and never contains a token, code, key or
 * secret.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;
  /** The `error` of an authorization server (RFC 6749, sections 4.1.2.1 and 5.2): `invalid_grant`, `access_denied`. */
  readonly error: string | undefined;

  constructor(code: OAuthErrorCode, message: string, options: ErrorOptions & { error?: string } = {}) {
    // The message may contain the name of an issuer or other text of a server.
    super(printableMessage(message), options);
    this.code = code;
    this.error = options.error;
  }
}

/**
 * The error of an authorization server, without the secrets that were sent to it.
 *
 * @param description the server's text for the user. It may contain anything.
 */
export function refused(
  code: OAuthErrorCode,
  what: string,
  { error, description }: { readonly error: string; readonly description: unknown },
  secrets: readonly string[],
): OAuthError {
  const why = typeof description === 'string' && description !== '' ? `${error}: ${description}` : error;
  return new OAuthError(code, `${what}: ${oneLine(why, secrets)}`, { error: oneLine(error, secrets) });
}

/** Maximum length of an authorization server's error description, in characters. */
const MAX_DESCRIPTION = 300;

/** Formats an authorization server's text as one line, without secrets. */
export function oneLine(text: string, secrets: readonly string[]): string {
  const clean = scrubber(secrets)(text).replace(/[^\x20-\x7e\u00a0-\uffff]+/g, ' ');
  return cutText(printableLine(clean), MAX_DESCRIPTION);
}
