import { createServer, type Server, type Socket } from 'node:net';
import type { SecureContextOptions, Server as TlsServer } from 'node:tls';
import { inTurns } from '../../../base/in-turns.ts';
import { tapSocket, type Wiretap } from '../../wiretap.ts';
import { bind } from './bind.ts';
import type { HttpHandler } from './handler.ts';
import { SocketConnection, type ConnectionTimeouts } from './socket-connection.ts';

/** The time for the head of a request and for the whole request, and how long an idle connection is kept. */
const TIMEOUTS: ConnectionTimeouts = { head: 15_000, request: 60_000, idle: 65_000 };
/** The time for a TLS handshake. */
const HANDSHAKE_TIMEOUT = 15_000;
/** How often the time limits of all connections are checked. */
const CHECK_INTERVAL = 1000;
/** After a longer time without a check, the process or the whole machine stood still. Milliseconds. */
const MAX_PAUSE = 5 * CHECK_INTERVAL;
/** How long a server that stops accepts connections, and then waits for requests that are on their way. Milliseconds. */
const LAST_REQUESTS = 100;
/** How many bytes are read at a time. Node reads at most this many in one call. */
const READ_SIZE = 64 * 1024;

/** Connections that another process has accepted. */
export interface AcceptedConnections {
  /** The port at which it accepts them. */
  readonly port: number;
  /** From now on, `serve` gets each connection. */
  start(serve: (socket: Socket) => void): void;
  /** No more connections are wanted. */
  end(): void;
}

/** An HTTP/1.1 server for one handler. It reads and writes its sockets itself, which takes less time than `node:http`. */
export class SocketServer {
  readonly #server: Server | TlsServer;
  readonly #handler: HttpHandler;
  readonly #wiretap: Wiretap | undefined;
  readonly #connections = new Set<SocketConnection>();
  /** Connections in a TLS handshake, and when they began, in milliseconds. By the address of the client. */
  readonly #shaking = new Map<string, { readonly socket: Socket; readonly since: number }>();
  /** How many connections were accepted. */
  #count = 0;
  /** Whether a connection serves at most one more request. */
  #retired = false;
  #accepted: AcceptedConnections | undefined;
  #checks: ReturnType<typeof setInterval> | undefined;
  /** When the time limits were last checked. */
  #checked = 0;

  private constructor(server: Server | TlsServer, handler: HttpHandler, wiretap: Wiretap | undefined) {
    this.#server = server;
    this.#handler = handler;
    this.#wiretap = wiretap;
  }

  /**
   * @param context the certificate and key for HTTPS. Undefined for plain HTTP.
   * @throws Error if they cannot be used.
   */
  static async create(
    handler: HttpHandler,
    context: SecureContextOptions | undefined,
    wiretap: Wiretap | undefined,
  ): Promise<SocketServer> {
    const options = { noDelay: true, highWaterMark: READ_SIZE };
    if (!context) {
      const server = createServer(options);
      const http = new SocketServer(server, handler, wiretap);
      server.on('connection', (socket: Socket) => {
        http.#count += 1;
        http.#serve(socket);
      });
      return http;
    }
    const tls = await import('node:tls');
    const server = tls.createServer({ ...options, ...context, ALPNProtocols: ['http/1.1'] });
    const https = new SocketServer(server, handler, wiretap);
    server.on('connection', (socket: Socket) => https.#shake(socket));
    server.on('secureConnection', (socket: Socket) => {
      // From here on, the encrypted socket shows whether a connection is busy.
      https.#shaking.delete(addressOf(socket));
      https.#serve(socket);
    });
    // The handshake failed, and Node closes the connection.
    server.on('tlsClientError', () => {});
    return https;
  }

  /** Starts to listen, as `bind` does. */
  async listen(host: string, port: number, onerror: (error: Error) => void): Promise<number> {
    const bound = await bind(this.#server, host, port, onerror);
    this.#startChecks();
    return bound;
  }

  /** Serves connections that another process has accepted. Returns their port. */
  serve(accepted: AcceptedConnections): number {
    this.#accepted = accepted;
    accepted.start((socket) => this.#server.emit('connection', socket));
    this.#startChecks();
    return accepted.port;
  }

  /** Uses other TLS credentials for new connections. @throws Error if they cannot be used. */
  renew(context: SecureContextOptions): void {
    if (!('setSecureContext' in this.#server)) throw new Error('This listener serves plain HTTP');
    this.#server.setSecureContext(context);
  }

  /**
   * Accepts no more connections, and ends each one after its current request. Before a client knows that its idle connection has ended, it
   * may send a request, and could not know whether that ran. So this waits a moment for such requests. Resolves when all have ended.
   */
  async close(timeout: number, ended: Promise<void>): Promise<void> {
    // It is awaited later.
    ended.catch(() => {});
    this.#accepted?.end();
    await this.#acceptAll();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, timeout);
    await ended;
    this.#retired = true;
    for (const connection of this.#connections) connection.retire();
    await Promise.race([this.#allClosed(), after(LAST_REQUESTS)]);
    for (const { socket } of this.#shaking.values()) socket.destroy();
    for (const connection of this.#connections) connection.closeIdle();
    await closed;
    // `net.Server` waits only for connections that it has accepted itself.
    await this.#allClosed();
    clearTimeout(timer);
    clearInterval(this.#checks);
  }

  get #sockets(): readonly Socket[] {
    return [...this.#connections, ...this.#shaking.values()].map(({ socket }) => socket);
  }

  async #allClosed(): Promise<void> {
    await Promise.all(this.#sockets.map((socket) => new Promise((done) => socket.once('close', done))));
  }

  /** Closing would reset connections that only the system has accepted. Node accepts one of them in a turn of the event loop. */
  async #acceptAll(): Promise<void> {
    // Clients may open connections all the time.
    let isOver = false;
    const over = after(LAST_REQUESTS).then(() => (isOver = true));
    const nextTurn = (): Promise<unknown> => Promise.race([over, new Promise((resolve) => void setImmediate(resolve))]);
    await nextTurn();
    for (let before = -1; before !== this.#count && !isOver;) {
      before = this.#count;
      await nextTurn();
    }
  }

  #serve(socket: Socket): void {
    if (this.#wiretap) tapSocket(this.#wiretap, { protocol: 'http', role: 'server', peer: addressOf(socket) }, socket);
    const onclose = (connection: SocketConnection): void => void this.#connections.delete(connection);
    const connection = new SocketConnection(socket, this.#handler, TIMEOUTS, onclose);
    this.#connections.add(connection);
    if (this.#retired) connection.retire();
  }

  #shake(socket: Socket): void {
    this.#count += 1;
    const from = addressOf(socket);
    this.#shaking.set(from, { socket, since: performance.now() });
    socket.once('close', () => this.#shaking.delete(from));
  }

  #startChecks(): void {
    this.#checked = performance.now();
    this.#checks = setInterval(() => this.#checkTimes(), CHECK_INTERVAL);
    this.#checks.unref();
  }

  #checkTimes(): void {
    const now = performance.now();
    const pause = now - this.#checked;
    this.#checked = now;
    // This check is skipped, so that what clients have sent meanwhile is read before the next one.
    if (pause > MAX_PAUSE) return;
    // One client may have thousands of connections whose time is over at once, and each refusal is a system call.
    void inTurns(this.#connections, (connection) => connection.checkTime(now));
    // The limit that Node has begins again with each byte, and closes nothing.
    void inTurns(this.#shaking.values(), ({ socket, since }) => {
      if (now - since > HANDSHAKE_TIMEOUT) socket.destroy();
    });
  }
}

/** Tests that replace `setTimeout` still close their servers, so this does not use it. @param time in milliseconds. */
function after(time: number): Promise<void> {
  return new Promise((resolve) => AbortSignal.timeout(time).addEventListener('abort', () => resolve()));
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
