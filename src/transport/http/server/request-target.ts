/** Matches the scheme and host of an absolute request target, which a client may send (RFC 9112, section 3.2.2). */
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

/** The target of a request without scheme and host. */
export function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(AUTHORITY, '') || '/';
}

/**
 * All hosts that a request names, joined by commas: those of its `Host` headers, and the host of its target if that
 * differs.
 *
 * @param named the values of its `Host` headers, joined by commas.
 */
export function hostsOf(named: string, target: string): string {
  if (target.startsWith('/')) return named;
  const authority = AUTHORITY.exec(target)?.[1];
  return authority === undefined || authority.toLowerCase() === named.toLowerCase() ? named : `${named}, ${authority}`;
}
