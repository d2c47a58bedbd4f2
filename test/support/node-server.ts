import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { HttpHandler } from '../../src/transport/http/server/handler.ts';

/** Lets a server of `node:http` listen until the test ends, together with the handler that it serves. Returns the port. */
export async function listenOnNode(server: Server, handler: HttpHandler): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}
