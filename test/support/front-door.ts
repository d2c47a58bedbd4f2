import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface FrontDoor {
  /** The target, at the address of this door. */
  readonly url: string;
  /** Interrupts all connections. */
  cut(): void;
}

/**
 * Passes requests on to a server. It ends with the test.
 *
 * @param origin the pages that may read the responses, for a server without CORS.
 */
export async function frontDoor(target: string, origin?: string): Promise<FrontDoor> {
  const cors: Record<string, string> =
    origin === undefined
      ? {}
      : {
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST, DELETE',
          'access-control-allow-headers': '*',
          'access-control-expose-headers': 'Mcp-Session-Id',
        };
  const door = createServer((request, response) => {
    if (origin !== undefined && request.method === 'OPTIONS') return void response.writeHead(204, cors).end();
    const { method, headers } = request;
    const passed = send(new URL(request.url!, target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, { ...answer.headers, ...cors });
      response.flushHeaders();
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    return void request.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  onTestFinished(() => {
    door.close();
    door.closeAllConnections();
  });
  const { pathname } = new URL(target);
  return {
    url: `http://127.0.0.1:${(door.address() as AddressInfo).port}${pathname}`,
    cut: () => door.closeAllConnections(),
  };
}
