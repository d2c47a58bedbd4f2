/** Used in place of a credential if the `Authorization` header is not exactly one Bearer credential. */
export const MALFORMED = Symbol('malformed');

/** Maximum length of a credential, far beyond what authorization servers issue. */
export const MAX_CREDENTIAL = 16 * 1024;
/** A complete header with one credential, a `b64token` (RFC 6750, section 2.1), or the start of a malformed one. */
const BEARER = /^bearer(?: +([\w.~+/-]+=*) *$|[ ,]|$)/i;

/**
 * Reads the credential of an `Authorization` header (RFC 6750, section 2.1). Tokens in the query are not accepted
 * (2026-07-28, basic/authorization: Token Requirements).
 *
 * @param header undefined if there is none; several are joined by commas.
 * @returns undefined if the header has no Bearer credential, for example if it has another scheme.
 */
export function bearerCredential(header: string | undefined): string | undefined | typeof MALFORMED {
  const match = header?.match(BEARER);
  if (!match) return undefined;
  const token = match[1];
  return token === undefined || token.length > MAX_CREDENTIAL ? MALFORMED : token;
}

/**
 * The message of a refusal without a credential. A header that has a token without its scheme is a common mistake.
 *
 * @param needed what callers need: `An API key`.
 */
export function missingCredential(needed: string, header: string | undefined): string {
  return header === undefined
    ? `${needed} is required`
    : `${needed} is required, and the Authorization header does not begin with "Bearer "`;
}
