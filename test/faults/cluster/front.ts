import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A process behind a front. */
interface Behind {
  readonly name: string;
  readonly url: string;
}

/** A request that a front has passed on, and the status of its response. */
export interface Exchanged {
  readonly session: string | undefined;
  readonly body: Buffer;
  /** When it came. */
  readonly since: number;
  readonly process: string;
  /** Undefined while there is no response. */
  readonly status: number | undefined;
}

/** The header of a response that names the process which gave it. */
export const PROCESS_HEADER = 'x-process';

/** A balancer that never sticks: each request goes to the next process. Only what was certainly not sent goes to another. */
export class Front {
  readonly #processes: () => readonly Behind[];
  readonly #server: Server;
  readonly #observe: (exchanged: Exchanged) => void;
  #turn = 0;

  private constructor(processes: () => readonly Behind[], observe: (exchanged: Exchanged) => void) {
    this.#processes = processes;
    this.#observe = observe;
    this.#server = createServer((incoming, response) => this.#take(incoming, response));
    // Clients reuse their connections. They must not be closed while a request is on its way.
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
  }

  /**
   * @param processes those that run now.
   * @param observe called when a request goes to a process, and when its response comes.
   */
  static async start(processes: () => readonly Behind[], observe: (exchanged: Exchanged) => void): Promise<Front> {
    const front = new Front(processes, observe);
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #take(incoming: IncomingMessage, response: ServerResponse): void {
    const body: Buffer[] = [];
    incoming.on('error', () => response.destroy());
    incoming.on('data', (chunk: Buffer) => void body.push(chunk));
    incoming.on('end', () => this.#pass(incoming, Buffer.concat(body), response, 0));
  }

  #pass(incoming: IncomingMessage, body: Buffer, response: ServerResponse, attempts: number): void {
    const processes = this.#processes();
    if (response.destroyed) return;
    if (attempts > 2 * processes.length || processes.length === 0) {
      response.writeHead(502).end('no process can be reached');
      return;
    }
    const behind = processes[(this.#turn += 1) % processes.length]!;
    const { port } = new URL(behind.url);
    const { method, url } = incoming;
    const headers = { ...incoming.headers, connection: 'close' };
    const session = incoming.headers['mcp-session-id'] as string | undefined;
    const exchanged = { session, body, since: Date.now(), process: behind.name };
    let connected = false;
    // Each request has its own connection: one that was reused may fail after the request was sent.
    const onward = request({ port, host: '127.0.0.1', path: url, method, headers, agent: false }, (reply) => {
      this.#observe({ ...exchanged, status: reply.statusCode });
      response.writeHead(reply.statusCode!, { ...reply.headers, [PROCESS_HEADER]: behind.name });
      response.flushHeaders();
      reply.on('error', () => response.destroy());
      reply.pipe(response);
    });
    onward.on('socket', (socket) =>
      socket.on('connect', () => {
        connected = true;
        this.#observe({ ...exchanged, status: undefined });
      }),
    );
    onward.on('error', () => {
      if (connected) response.destroy();
      else this.#pass(incoming, body, response, attempts + 1);
    });
    response.on('close', () => onward.destroy());
    onward.end(body);
  }
}
