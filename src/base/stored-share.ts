import { createHash } from 'node:crypto';
import { shareOf, type Owner } from './share.ts';

/** The share of a limit in a store, without the address or the principal itself. */
export function storedShareOf(owner: Owner): string {
  return createHash('sha256').update('everwire-share').update(shareOf(owner)).digest('base64url').slice(0, 22);
}
