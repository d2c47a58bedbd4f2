import { peerUrl } from '../base/peer-url.ts';
import { originOf } from '../transport/http/client/errors.ts';
import { isLoopback } from '../transport/http/server/access/guards.ts';

/**
 * Parses the URL of an authorization server or resource. It must use https, or http on loopback, and must contain neither
 * credentials nor a fragment (2026-07-28, basic/authorization: Communication Security; RFC 8414, section 2; RFC 9728,
 * section 1.2).
 *
 * @param name what the URL is, for the error.
 * @throws TypeError
 */
export function secureUrl(text: string, name: string): URL {
  const url = peerUrl(text);
  if (!url) throw new TypeError(`${name} must be an absolute URL`);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw new TypeError(`${name} must be an https URL, or http on loopback: ${originOf(url)}`);
  }
  if (url.username !== '' || url.password !== '') throw new TypeError(`${name} must not contain credentials`);
  if (text.includes('#')) throw new TypeError(`${name} must not have a fragment`);
  return url;
}

/**
 * Like `secureUrl`, for an identifier: it is compared as a string and gets a well-known path, so it must not have a query.
 *
 * @throws TypeError
 */
export function identifierUrl(text: string, name: string): URL {
  const url = secureUrl(text, name);
  if (text.includes('?')) throw new TypeError(`${name} must not have a query`);
  return url;
}

/** Inserts a well-known path between the host and the path of an identifier (RFC 8414 and RFC 9728, section 3.1). */
export function wellKnown(identifier: URL, suffix: string): string {
  return `${identifier.origin}/.well-known/${suffix}${pathOf(identifier)}`;
}

/**
 * The URLs where the metadata of an authorization server may be, in the order in which to try them (2026-07-28,
 * basic/authorization: Authorization Server Metadata Discovery).
 */
export function issuerMetadataUrls(issuer: URL): readonly string[] {
  const appended = `${issuer.origin}${pathOf(issuer)}/.well-known/openid-configuration`;
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map((suffix) => wellKnown(issuer, suffix));
  return [...new Set([...inserted, appended])];
}

/** The path without a slash at its end. */
function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/$/, '');
}

/**
 * A URL with these parameters in place of all others with the same names.
 *
 * `URLSearchParams.set` takes seconds for a name that occurs many times, and the URL may come from a hostile server.
 */
export function withParameters(url: URL, parameters: Readonly<Record<string, string>>): URL {
  const others = [...url.searchParams].filter(([name]) => !Object.hasOwn(parameters, name));
  const changed = new URL(url);
  changed.search = new URLSearchParams([...others, ...Object.entries(parameters)]).toString();
  return changed;
}
