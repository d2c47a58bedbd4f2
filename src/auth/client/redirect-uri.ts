import { peerUrl } from '../../base/peer-url.ts';
import { isLoopback } from '../../transport/http/server/access/guards.ts';

/**
 * Checks that a redirect URI may receive a code: it must use HTTPS or lead to this machine (2026-07-28,
 * security-considerations: Communication Security).
 *
 * @throws TypeError if not.
 */
export function checkRedirect(redirectUri: string): void {
  const { protocol, hostname } = peerUrl(redirectUri) ?? { protocol: '', hostname: '' };
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return;
  throw new TypeError(`A redirect URI must be https, or http on this machine, and not ${redirectUri}`);
}
