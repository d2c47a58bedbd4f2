import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

/** The end of a TCP connection that another process of this machine holds. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

const ESTABLISHED = '01';

/**
 * Whether a connection comes from a process of this user, or of root. Only Linux can tell. Elsewhere, true.
 */
export async function isOwnUser(peer: Peer): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const user = userOf(peer, await readFile('/proc/net/tcp', 'latin1'));
  return user !== undefined && (user === 0 || user === process.getuid!());
}

/**
 * The id of the user whose process holds the other end of an IPv4 connection. Undefined if no process on this machine
 * does, or if it has closed it: then Linux says 0.
 *
 * @param table `/proc/net/tcp` (proc_net_tcp in Linux's documentation of networking).
 */
export function userOf(
  { remoteAddress, remotePort, localAddress, localPort }: Peer,
  table: string,
): number | undefined {
  const [own, other] = [endOf(remoteAddress, remotePort), endOf(localAddress, localPort)];
  for (const line of table.split('\n')) {
    const [, local, remote, state, , , , user] = line.trim().split(/\s+/);
    if (local === own && remote === other && state === ESTABLISHED) return Number(user);
  }
  return undefined;
}

/** An address and a port as the table has them: `0100007F:1F90` for 127.0.0.1:8080. */
function endOf(address = '', port = 0): string {
  const bytes = Buffer.from(address.split('.').map(Number));
  if (endianness() === 'LE') bytes.reverse();
  return `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}
