import { describe, expect, test, vi } from 'vitest';
import { notification } from '../../jsonrpc/message.ts';
import { transportSuite, type TransportPair } from '../../testing/contracts/transport-suite.ts';
import type { Transport } from '../../transport/transport.ts';
import { Channels, type Packet } from './channels.ts';

/** Two processes in memory. Packets are copied, as between processes. */
function joined(): { near: Channels; accepted: Transport[] } {
  const accepted: Transport[] = [];
  const to = (end: () => Channels) => async (packet: Packet) => {
    const copy = JSON.parse(JSON.stringify(packet)) as Packet;
    queueMicrotask(() => end().receive(copy));
  };
  const near: Channels = new Channels(to(() => far));
  const far: Channels = new Channels(
    to(() => near),
    (transport) => accepted.push(transport),
  );
  return { near, accepted };
}

/** Opens a connection. Neither end is started. */
async function open(): Promise<TransportPair> {
  const { near, accepted } = joined();
  const a = near.open(Promise.resolve());
  await vi.waitUntil(() => accepted.length === 1);
  return { a, b: accepted[0]! };
}

describe('a connection between processes follows the contract', () => {
  for (const { name, run } of transportSuite(open)) test(name, run);
});

describe('connections between processes', () => {
  test('end with the other process, and say why', async () => {
    const { near } = joined();
    const connection = near.open(Promise.resolve());
    await connection.start();
    let closed = 0;
    connection.onclose = () => (closed += 1);
    near.end(new Error('it exited with code 1'));
    expect(closed).toBe(1);
    expect(connection.closeReason?.message).toBe('it exited with code 1');
    await expect(connection.send(notification('late', {}))).rejects.toThrow('it exited with code 1');
    await expect(near.open(Promise.resolve()).start()).rejects.toThrow('it exited with code 1');
  });

  test('are kept apart', async () => {
    const { near, accepted } = joined();
    const [one, other] = [near.open(Promise.resolve()), near.open(Promise.resolve())];
    await Promise.all([one.start(), other.start()]);
    const received: unknown[] = [];
    for (const [index, transport] of accepted.entries()) {
      transport.onmessage = (message) => received.push([index, message]);
      await transport.start();
    }
    await other.send(notification('to/second', {}));
    await one.close();
    await other.send(notification('still/open', {}));
    await vi.waitUntil(() => received.length === 2);
    expect(received).toEqual([
      [1, notification('to/second', {})],
      [1, notification('still/open', {})],
    ]);
    await expect(one.send(notification('late', {}))).rejects.toThrow('closed');
  });
});
