import { connect as connectTcp, isIP, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector, Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import symbols from 'undici/lib/core/symbols.js';
import { startTimer } from '../../../base/timer.ts';
import { tapSocket, type Wiretap } from '../../wiretap.ts';
import { openTunnel, type Proxy } from './proxy.ts';

/**
 * How long a server keeps an idle connection if it does not say: the default of `node:http` and of Python's uvicorn.
 * Milliseconds.
 */
const SERVER_IDLE_TIMEOUT = 5000;
/**
 * How much earlier than the server the client closes an idle connection, as a fraction of the server's time. If a request
 * is sent while the server closes the connection, it fails, and it is unknown whether it ran. On a busy machine either
 * side may be seconds late.
 */
const MARGIN = 0.5;
/** After this many milliseconds of silence, TCP keep-alive checks the peer. */
const PROBE_AFTER = 30_000;
/** How many bytes are read at a time. More would not fit into one read of Node. */
const READ_SIZE = 64 * 1024;

const CLOSED = new Error('the connection was closed');

export interface PoolOptions {
  readonly origin: string;
  readonly proxy: Proxy | undefined;
  /** The limit for name resolution, connection and TLS together. Milliseconds; 0 for no limit. */
  readonly connectTimeout: number;
  /** The largest size of the response headers, in bytes. */
  readonly maxHeaderBytes: number;
  /** Sees the bytes of each connection, decrypted. */
  readonly wiretap: Wiretap | undefined;
}

/** The connections to one server. Each carries one request at a time, and there are as many as needed. */
export class ConnectionPool {
  readonly options: PoolOptions;
  /** The TLS session of the newest connection. The next one resumes it. */
  session: Buffer | undefined;
  readonly #all = new Set<Connection>();
  /** The connections that carry no request. The last one is used first. */
  readonly #idle: Connection[] = [];

  constructor(options: PoolOptions) {
    this.options = options;
  }

  /** An idle connection, or a new one. It carries no other request until `release`. */
  take(): Connection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.ended) return idle;
    const connection = new Connection(this);
    this.#all.add(connection);
    return connection;
  }

  release(connection: Connection): void {
    this.#idle.push(connection);
  }

  remove(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }
}

/** One connection to a server, which connects with its first request. */
export class Connection {
  /** Whether a response has come over it. */
  reused = false;
  readonly #pool: ConnectionPool;
  readonly #client: Client;
  /** The socket; or the request for a tunnel, until that becomes the socket. */
  #socket: { readonly destroyed: boolean; destroy(error: Error): unknown } | undefined;
  #closed = false;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.#client = new Client(pool.options.origin, {
      connect: (options, done) => this.#connect(options.servername, done),
      pipelining: 1,
      maxHeaderSize: pool.options.maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: SERVER_IDLE_TIMEOUT * MARGIN,
      // `keepFor` sets the margin. If the server says 0, undici closes the connection.
      keepAliveTimeoutThreshold: 0,
    });
    const onend = (_origin: URL, _targets: unknown, error: { readonly code?: string }): void => {
      // A server that has closed one idle connection may have closed all of them. The next request opens a new one.
      if (!this.#closed && error.code !== 'UND_ERR_INFO') pool.closeIdle();
      // Else undici would open another connection for the next request.
      this.close();
    };
    this.#client.on('disconnect', onend).on('connectionError', onend);
  }

  get ended(): boolean {
    return this.#closed || this.#socket?.destroyed === true;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  /** Takes the time for which the server keeps this connection while it is idle, from a `Keep-Alive` header. */
  keepFor(header: string): void {
    const seconds = /\btimeout=(\d{1,6})/i.exec(header)?.[1];
    // Undici has set the server's own time.
    if (seconds !== undefined) (this.#client as any)[symbols.kKeepAliveTimeoutValue] = Number(seconds) * 1000 * MARGIN;
  }

  /** The response is complete. The connection can carry another request. */
  release(): void {
    this.reused = true;
    if (!this.#closed) this.#pool.release(this);
  }

  /**
   * Stops reading. This is not undici's own pause: if the server closes the connection during that, undici throws an
   * error that nobody can catch.
   */
  pause(): void {
    if (this.#socket instanceof Socket) this.#socket.read = readNothing;
  }

  /** @param now whether to read at once. Undici does not allow that while it calls a handler. */
  resume(now: boolean): void {
    const socket = this.#socket;
    if (!(socket instanceof Socket)) return;
    // eslint-disable-next-line typescript/unbound-method
    socket.read = Socket.prototype.read;
    if (now && !socket.destroyed) socket.emit('readable');
  }

  /** Closes it. The handler of a request on it gets an error. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pool.remove(this);
    this.#socket?.destroy(CLOSED);
    void this.#client.destroy();
  }

  #connect(servername: string | null | undefined, done: buildConnector.Callback): void {
    const { origin, proxy, connectTimeout, wiretap } = this.#pool.options;
    const server = new URL(origin);
    const first = proxy?.url ?? server;
    let settled = false;
    const onTimeout = (): void => void this.#socket?.destroy(new Error(`no connection within ${connectTimeout} ms`));
    const timer = startTimer(connectTimeout, onTimeout);
    const settle = (...outcome: Parameters<buildConnector.Callback>): void => {
      clearTimeout(timer);
      if (!settled) done(...outcome);
      settled = true;
    };
    const use = (socket: Socket, event: string, peer: string): void => {
      this.#socket = socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER);
      socket.on('error', (error) => settle(error, null));
      socket.once(event, () => {
        if (wiretap) tapSocket(wiretap, { protocol: 'http', role: 'client', peer }, socket);
        settle(null, socket);
      });
    };
    const useTls = (url: URL, socket?: Socket): void => {
      const host = hostOf(url);
      const name = servername ?? (isIP(host) === 0 ? host : '');
      const { session } = this.#pool;
      const port = Number(url.port || 443);
      const tls = connectTls({ host, port, servername: name, session, socket, ALPNProtocols: ['http/1.1'] });
      tls.on('session', (resumable) => (this.#pool.session = resumable));
      use(tls, 'secureConnect', url.host);
    };
    if (proxy && server.protocol === 'https:') {
      this.#socket = openTunnel(proxy, server, (error, tunnel) => {
        if (error) settle(error, null);
        else useTls(server, tunnel);
      });
    } else if (first.protocol === 'https:') {
      useTls(first);
    } else {
      const options = { host: hostOf(first), port: Number(first.port || 80), readableHighWaterMark: READ_SIZE };
      use(connectTcp(options), 'connect', first.host);
    }
  }
}

/** The host to connect to: IPv6 without brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function readNothing(): null {
  return null;
}
