import { lookup as resolve, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isLoopback } from '../../transport/http/server/access/guards.ts';
import { reachOf, type Reach } from './addresses.ts';

/**
 * Resolves names, and checks each address just before the connection is made, so that a name cannot change between check
 * and use.
 *
 * @param refusal the error for a name with an address that is not allowed.
 */
export function guardedLookup(
  allowed: ReadonlySet<Reach | undefined>,
  refusal: (hostname: string, reach: Reach) => Error,
): LookupFunction | undefined {
  return (
    hostname: string,
    options: LookupOptions,
    callback: (error: Error | null, address: any, family?: number) => void,
  ): void => {
    resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, undefined);
      const wrong = addresses.map(({ address }) => reachOf(address)).find((reach) => !allowed.has(reach));
      if (wrong) return callback(refusal(hostname, wrong), undefined);
      if (options.all === true) return callback(null, addresses);
      const [first] = addresses;
      return callback(null, first!.address, first!.family);
    });
  };
}

/** The reach of an IP address or a loopback name; undefined for any other name. */
export function literalReach(hostname: string): Reach | undefined {
  if (isLoopback(hostname)) return 'loopback';
  const bare = hostname.replaceAll(/[[\]]/g, '');
  return isIP(bare) === 0 ? undefined : reachOf(bare);
}

/** Whether a response that cannot be read looks like a failed request. */
export const HIDES_RESPONSES = false;
