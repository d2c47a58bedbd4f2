/** The sender of a request, for limits. */
export interface Owner {
  readonly principal: string | undefined;
  /** The remote address, if it is known. */
  readonly address: string | undefined;
}

/**
 * The share of a limit that a request counts towards: that of the principal, or of the address if there is no
 * principal.
 */
export function shareOf({ principal, address = '' }: Owner): string {
  return principal === undefined ? `address ${clientAddress(address)}` : `principal ${principal}`;
}

/** An IPv4 address in an IPv6 one (RFC 4291, section 2.5.5.2), as an IPv6 socket shows it. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** How many of the eight groups of an IPv6 address name a network. */
const NETWORK_GROUPS = 4;

/**
 * What the addresses of one client have in common. A client of IPv6 has at least a network of 64 bits (RFC 6177), and so
 * any number of addresses.
 */
function clientAddress(address: string): string {
  if (!address.includes(':')) return address;
  const ipv4 = MAPPED.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  // A zone (RFC 4007) names an interface of this machine, so it says nothing about the client.
  const [first = '', last] = address.toLowerCase().replace(/%.*/, '').split('::');
  const groups = groupsOf(first);
  if (last !== undefined) {
    const zeros = Math.max(0, 8 - groups.length - groupsOf(last).length);
    groups.push(...Array<string>(zeros).fill('0'), ...groupsOf(last));
  }
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** The groups without leading zeros. An IPv4 address at the end takes two groups. */
function groupsOf(part: string): string[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => (group.includes('.') ? ['', group] : [group.replace(/^0+(?=.)/, '')]));
}

/**
 * The part of a limit that one share may use, if nothing can be taken away from a share later. The rest is for others.
 */
export const PART_OF_ONE = 7 / 8;

/**
 * How many shares without any amount stay in the map. A `Map` keeps reallocating its tables if entries are added and
 * removed.
 */
const KEPT = 1000;

/** Counts by share, or sums of amounts. */
export class ShareCounts implements Iterable<[share: string, count: number]> {
  // Requests change an object, because each write to a `Map` looks for the share anew.
  readonly #counts = new Map<string, { count: number }>();

  of(share: string): number {
    return this.#counts.get(share)?.count ?? 0;
  }

  add(share: string, amount = 1): void {
    const counted = this.#counts.get(share);
    if (counted) counted.count += amount;
    else this.#counts.set(share, { count: amount });
  }

  remove(share: string, amount = 1): void {
    const counted = this.#counts.get(share);
    if (!counted) return;
    counted.count -= amount;
    if (counted.count === 0 && this.#counts.size > KEPT) this.#counts.delete(share);
  }

  *[Symbol.iterator](): Generator<[share: string, count: number]> {
    for (const [share, { count }] of this.#counts) yield [share, count];
  }
}
