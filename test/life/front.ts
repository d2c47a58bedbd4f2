import { Agent, createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { RunningServer } from '../support/process.ts';

/** What a front knows when it chooses a server. */
export interface Passing {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request that has passed. */
export interface Passed extends Passing {
  /** The server that got it first. */
  readonly server: number;
  /** Whether the response has begun. */
  answered: boolean;
}

/** A port in front of several servers. */
export interface Front {
  readonly url: string;
  readonly sseUrl: string;
  /** How many responses each server has given. */
  readonly counts: readonly number[];
  /** All requests. */
  readonly passed: readonly Readonly<Passed>[];
}

/**
 * Passes each request to a server. If that is gone, to the next one.
 *
 * @param choose the index of the server. Default: one after the other.
 * @param cuts whether the connection is lost when the response begins. Default: never.
 */
export async function frontOf(
  servers: readonly RunningServer[],
  choose: (passing: Passing) => number | undefined = () => undefined,
  cuts: (passing: Passing) => boolean = () => false,
): Promise<Front> {
  const counts = servers.map(() => 0);
  const passed: Passed[] = [];
  let turn = 0;
  // An idle connection may be closed while the front sends a request. Then it would pass the request to the next server.
  const agent = new Agent({ keepAlive: false });
  const front = createServer((incoming, response) => {
    const pass = (passing: Passed, index: number, attempts: number): void => {
      const { port } = new URL(servers[index]!.url);
      const { method, url, headers } = incoming;
      const onward = request({ port, host: '127.0.0.1', path: url, method, headers, agent }, (reply) => {
        counts[index]! += 1;
        passing.answered = true;
        response.writeHead(reply.statusCode!, reply.headers);
        reply.pipe(response);
        if (cuts(passing)) reply.once('data', () => setImmediate(() => response.destroy()));
        reply.on('error', () => response.destroy());
      });
      onward.on('error', () =>
        attempts > 0 ? pass(passing, (index + 1) % servers.length, attempts - 1) : response.destroy(),
      );
      response.on('close', () => onward.destroy());
      onward.end(body);
    };
    let body = Buffer.alloc(0);
    incoming.on('data', (chunk: Buffer) => void (body = Buffer.concat([body, chunk])));
    incoming.on('end', () => {
      const passing = { method: incoming.method!, headers: incoming.headers, body: body.toString() };
      const server = choose(passing) ?? (turn += 1) % servers.length;
      const entry = { ...passing, server, answered: false };
      passed.push(entry);
      pass(entry, server, 1);
    });
  });
  // On a busy machine, a client may send a request while its idle connection is closed.
  front.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    front.closeAllConnections();
    front.close();
  });
  const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  return { url: `${origin}/mcp`, sseUrl: `${origin}/sse`, counts, passed };
}
