/** Stands for an `Authorization` header that is not exactly one Bearer credential. */
export const MALFORMED = Symbol('malformed');

/** Maximum length of a credential, far beyond what authorization servers issue. */
export const MAX_CREDENTIAL = 16 * 1024;
/** The whole header of one credential, a `b64token` (RFC 6750, section 2.1), or else the start of one that is malformed. */
const BEARER = /^bearer(?: +([\w.~+/-]+=*) *$|[ ,]|$)/i;

/**
 * The credential of an `Authorization` header (RFC 6750, section 2.1). Nothing else is read: tokens must not come in the
 * query (2026-07-28, basic/authorization: Token Requirements).
 *
 * @param header undefined if there is none; several are joined by commas.
 * @returns undefined if the header has no Bearer credential, for example one of another scheme.
 */
export function bearerCredential(header: string | undefined): string | undefined | typeof MALFORMED {
  const match = header?.match(BEARER);
  if (!match) return undefined;
  const token = match[1];
  return token === undefined || token.length > MAX_CREDENTIAL ? MALFORMED : token;
}
