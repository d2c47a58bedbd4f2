import { isLoopback } from '../transport/http/guards.ts';

/**
 * Reads an address of an authorization server or of a resource: `https`, or `http` on loopback, and neither a fragment nor
 * credentials in it (2026-07-28, basic/authorization: Communication Security; RFC 8414, section 2; RFC 9728, section 1.2).
 *
 * @param name what the address is, for the error.
 * @throws TypeError
 */
export function secureUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw new TypeError(`${name} must be an absolute URL`);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw new TypeError(`${name} must be an https URL, or http on loopback: ${url.origin}`);
  }
  if (url.username !== '' || url.password !== '') throw new TypeError(`${name} must not hold credentials`);
  if (text.includes('#')) throw new TypeError(`${name} must not have a fragment`);
  return url;
}

/**
 * As `secureUrl`, for what is compared as it is written and takes a well-known path: it has no query either.
 *
 * @throws TypeError
 */
export function identifierUrl(text: string, name: string): URL {
  const url = secureUrl(text, name);
  if (text.includes('?')) throw new TypeError(`${name} must not have a query`);
  return url;
}

/** Puts a well-known path between the host and the path of an identifier (RFC 8414, section 3.1; RFC 9728, section 3.1). */
export function wellKnown(identifier: URL, suffix: string): string {
  return `${identifier.origin}/.well-known/${suffix}${identifier.pathname.replace(/\/$/, '')}`;
}
