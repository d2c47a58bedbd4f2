import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Wiretap } from '../../src/transport/wiretap.ts';

/** A port that passes every byte to another one, and shows them to a wiretap as an HTTP connection. */
export async function tcpTap(wiretap: Wiretap, port: number): Promise<{ port: number; stop: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const tap = wiretap.open({ protocol: 'http', role: 'client' });
    let isOpen = true;
    const end = (): void => {
      if (isOpen) tap.close();
      isOpen = false;
      near.destroy();
      far.destroy();
    };
    near.on('data', (chunk: Buffer) => {
      if (isOpen) tap.bytes('c>s', chunk);
      far.write(chunk);
    });
    far.on('data', (chunk: Buffer) => {
      if (isOpen) tap.bytes('s>c', chunk);
      near.write(chunk);
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
