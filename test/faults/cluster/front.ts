import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A balancer that never sticks: each request goes to the next process. Only what was certainly not sent goes to another. */
export class Front {
  readonly #urls: () => readonly string[];
  readonly #server: Server;
  #turn = 0;

  private constructor(urls: () => readonly string[]) {
    this.#urls = urls;
    this.#server = createServer((incoming, response) => this.#take(incoming, response));
    // Clients reuse their connections. They must not be closed while a request is on its way.
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
  }

  /** @param urls of the processes that run now. */
  static async start(urls: () => readonly string[]): Promise<Front> {
    const front = new Front(urls);
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
    const urls = this.#urls();
    if (response.destroyed) return;
    if (attempts > 2 * urls.length || urls.length === 0) {
      response.writeHead(502).end('no process can be reached');
      return;
    }
    const { port } = new URL(urls[(this.#turn += 1) % urls.length]!);
    const { method, url } = incoming;
    const headers = { ...incoming.headers, connection: 'close' };
    let connected = false;
    // Each request has its own connection: one that was reused may fail after the request was sent.
    const onward = request({ port, host: '127.0.0.1', path: url, method, headers, agent: false }, (reply) => {
      response.writeHead(reply.statusCode!, reply.headers);
      response.flushHeaders();
      reply.on('error', () => response.destroy());
      reply.pipe(response);
    });
    onward.on('socket', (socket) => socket.on('connect', () => (connected = true)));
    onward.on('error', () => {
      if (connected) response.destroy();
      else this.#pass(incoming, body, response, attempts + 1);
    });
    response.on('close', () => onward.destroy());
    onward.end(body);
  }
}
