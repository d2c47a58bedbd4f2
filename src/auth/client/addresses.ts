import { BlockList, isIP } from 'node:net';

/** Where an address leads: this machine, its network link, a private network, or the public internet. */
export type Reach = 'link-local' | 'loopback' | 'private' | 'public';

/** The IPv6 addresses by which a network without IPv4 reaches IPv4 addresses (NAT64; RFC 6052, section 2.1). */
const NAT64 = '64:ff9b::';

function list(...subnets: readonly string[]): BlockList {
  const blocked = new BlockList();
  for (const subnet of subnets) {
    const [network, prefix] = subnet.split('/') as [string, string];
    const isIPv6 = network.includes(':');
    blocked.addSubnet(network, Number(prefix), isIPv6 ? 'ipv6' : 'ipv4');
    if (!isIPv6) blocked.addSubnet(NAT64 + network, 96 + Number(prefix), 'ipv6');
  }
  return blocked;
}

// A connection to the unspecified address reaches this machine.
const LOOPBACK = list('127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128');
// Cloud instances read their credentials from these addresses.
const LINK_LOCAL = list('169.254.0.0/16', 'fe80::/10');
/** Addresses that are not public (IANA special-purpose address registries), and IPv6 forms of IPv4 addresses. */
const PRIVATE = list(
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
);

/** @param address IPv4 or IPv6, without brackets. Anything else counts as private. */
export function reachOf(address: string): Reach {
  const version = isIP(address);
  if (version === 0) return 'private';
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (LOOPBACK.check(address, family)) return 'loopback';
  if (LINK_LOCAL.check(address, family)) return 'link-local';
  return PRIVATE.check(address, family) ? 'private' : 'public';
}
