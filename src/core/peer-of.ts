import type { Caller } from './exchange.ts';

/** Who makes work with a request: the principal, or else the session, or else all at one address. For `inShortTurns`. */
export function peerOf({ principal, session, address }: Caller): unknown {
  return principal ?? session ?? address;
}
