/** What an `Authorization` header holds that cannot be read as one Bearer credential. */
export const MALFORMED = Symbol('malformed');

/** Characters of a credential; far beyond what authorization servers issue. */
export const MAX_CREDENTIAL = 16 * 1024;
/** `b64token` of RFC 6750, section 2.1. */
const BEARER = /^bearer +([\w.~+/-]+=*) *$/i;

/**
 * The credential of an `Authorization` header (RFC 6750, section 2.1). It is looked for nowhere else: tokens must not come
 * in the query (2026-07-28, basic/authorization: Token Requirements).
 *
 * @param header undefined where there is none; several are joined by commas.
 * @returns undefined where the header shows no Bearer credential, of another scheme for one.
 */
export function bearerCredential(header: string | undefined): string | undefined | typeof MALFORMED {
  if (header === undefined || !/^bearer( |,|$)/i.test(header)) return undefined;
  const token = BEARER.exec(header)?.[1];
  return token === undefined || token.length > MAX_CREDENTIAL ? MALFORMED : token;
}
