import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { endianness } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { isOwnUser, userOf } from './peer-user.ts';

const peer = { remoteAddress: '127.0.0.1', remotePort: 43_210, localAddress: '127.0.0.1', localPort: 6274 };

/** A line of `/proc/net/tcp`. */
function line(local: string, remote: string, state: string, user: number): string {
  return `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 42 1 0000000000000000 20 4 30 10 -1\n`;
}

test.runIf(endianness() === 'LE')('the user of a connection is that of the process at its other end', () => {
  const [own, other] = ['0100007F:1882', '0100007F:A8CA'];
  expect(userOf(peer, line(own, other, '01', 1) + line(other, own, '01', 1000))).toBe(1000);
  // This server's end, the same port of another address, another port, and an end that was closed.
  for (const [local, remote, state] of [
    [own, other, '01'],
    ['0200007F:A8CA', own, '01'],
    ['0100007F:A8CB', own, '01'],
    [other, '0100007F:1883', '01'],
    [other, own, '05'],
    [other, own, '06'],
  ] as const)
    expect(userOf(peer, line(local, remote, state, 0)), `${local} ${remote} ${state}`).toBeUndefined();
  expect(userOf(peer, '')).toBeUndefined();
  expect(userOf({ ...peer, remoteAddress: undefined }, line(other, own, '01', 0))).toBeUndefined();
});

test('a connection of this process is one of this user', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  const [accepted] = (await once(server, 'connection')) as [Socket];
  expect(await isOwnUser(accepted)).toBe(true);
});
