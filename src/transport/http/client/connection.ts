import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { startTimer } from '../../../base/timer.ts';
import { tapSocket, type Wiretap } from '../../wiretap.ts';
import { openTunnel, type Proxy } from './proxy.ts';
import type { Headers } from '../message-parser.ts';
import { ResponseParser, type ResponseListener } from './response-parser.ts';

/**
 * How long a server keeps an idle connection if it does not say: the default of `node:http` and of Python's uvicorn.
 * Milliseconds.
 */
const SERVER_IDLE_TIMEOUT = 5000;
/**
 * The client closes an idle connection after this fraction of the server's time. If a request is sent while the server
 * closes the connection, the request fails, and nobody knows whether it ran. On a busy machine either side may be
 * seconds late.
 */
const MARGIN = 0.5;
/** The longest time that an idle connection is kept, whatever the server says. Milliseconds. */
const MAX_IDLE = 600_000;
/** After this many milliseconds of silence, TCP keep-alive checks the peer. */
const PROBE_AFTER = 30_000;
/** How many bytes are read at a time. Node reads at most this many in one call. */
const READ_SIZE = 64 * 1024;

export const CLOSED = new Error('the connection was closed');

export interface PoolOptions {
  readonly origin: string;
  readonly proxy: Proxy | undefined;
  /** The limit for name resolution, connection and TLS together. Milliseconds; 0 for no limit. */
  readonly connectTimeout: number;
  /** The largest size of the response headers, in bytes. */
  readonly maxHeaderBytes: number;
  /** Resolves the names of servers. Default: `dns.lookup`. */
  readonly lookup?: LookupFunction | undefined;
  /** Sees the bytes of each connection, decrypted. */
  readonly wiretap?: Wiretap | undefined;
}

/** The connections to one server. Each carries one request at a time, and there are as many as needed. */
export class ConnectionPool {
  readonly options: PoolOptions;
  /** The TLS session of the newest connection. The next one resumes it. */
  session: Buffer | undefined;
  /** Whether connections close when they carry no request. */
  retired = false;
  readonly #all: Set<Connection>;
  /** The connections that carry no request. The last one is used first. */
  readonly #idle: Connection[] = [];

  /** @param all the connections of this pool and of others. */
  constructor(options: PoolOptions, all: Set<Connection>) {
    this.options = options;
    this.#all = all;
  }

  /** An idle connection, or a new one. It carries no other request until `release`. */
  take(): Connection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isOverdue) idle.close();
      else if (!idle.ended) return idle;
    }
    const connection = new Connection(this);
    this.#all.add(connection);
    return connection;
  }

  release(connection: Connection): void {
    if (this.retired) connection.close();
    else this.#idle.push(connection);
  }

  /** Takes no new requests. Those in flight continue. */
  retire(): void {
    this.retired = true;
    this.closeIdle();
  }

  remove(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }
}

/** What a connection reports about its request, besides the response. */
export interface ExchangeListener extends ResponseListener {
  /** The request is being written to the server. */
  onsent(): void;
  /** The connection has failed or was closed before the response was complete. Nothing more is called. */
  onerror(error: Error): void;
}

/** One connection to a server, which connects with its first request. */
export class Connection implements ResponseListener {
  /** Whether a response has come over it. */
  reused = false;
  readonly #pool: ConnectionPool;
  readonly #parser: ResponseParser;
  /** The socket; or the request for a tunnel, until that becomes the socket. */
  #connecting: { destroy(error: Error): unknown } | undefined;
  /** The socket when it is connected. */
  #socket: Socket | undefined;
  #listener: ExchangeListener | undefined;
  #closed = false;
  /** When the last request was sent, or its response was complete. As in `Date.now()`. */
  #since = 0;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.#parser = new ResponseParser(pool.options.maxHeaderBytes, this);
  }

  get ended(): boolean {
    return this.#closed || this.#socket?.destroyed === true;
  }

  /**
   * Whether the server may have closed the connection for its idle time. When the machine wakes up, a request may be sent before
   * the timer of the connection fires. Only the time of day counts while a machine sleeps. If it was set back, the time is unknown.
   */
  get isOverdue(): boolean {
    const waited = Date.now() - this.#since;
    return waited < 0 || waited > this.#socket!.timeout!;
  }

  /**
   * Sends a request. The previous one must be complete.
   *
   * @param head the request line and the headers, in ASCII or Latin-1.
   */
  send(head: string, body: string | undefined, listener: ExchangeListener): void {
    this.#listener = listener;
    const socket = this.#socket;
    if (socket) {
      socket.ref();
      this.#write(socket, head, body);
      return;
    }
    this.#connect((error, connected) => {
      if (this.#closed) connected?.destroy();
      else if (connected) {
        this.#use(connected);
        this.#write(connected, head, body);
      } else this.end(error!);
    });
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    const socket = this.#socket;
    // The idle timer may have fired while reading was paused. If no more bytes come, only this starts it again.
    socket?.setTimeout(socket.timeout!).resume();
  }

  /** Lets the process end although the response has not. */
  unref(): void {
    this.#socket?.unref();
  }

  /** Closes the connection. Its listener is called no more. */
  close(): void {
    this.#listener = undefined;
    if (this.#closed) return;
    this.#closed = true;
    this.#pool.remove(this);
    this.#connecting?.destroy(CLOSED);
  }

  /** Closes the connection, and fails its request. */
  end(error: Error): void {
    if (this.#closed) return;
    const listener = this.#listener;
    this.close();
    // A server that has closed one connection may have closed all idle ones. The next request opens a new one.
    this.#pool.closeIdle();
    listener?.onerror(error);
  }

  onhead(status: number, headers: Headers): void {
    const seconds = /\btimeout=(\d{1,6})/i.exec(headers.get('keep-alive') ?? '')?.[1];
    if (seconds !== undefined) this.#setIdleTime(Math.min(Number(seconds) * 1000 * MARGIN, MAX_IDLE));
    this.#listener?.onhead(status, headers);
  }

  ondata(bytes: Uint8Array): void {
    this.#listener?.ondata(bytes);
  }

  onend(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    const socket = this.#socket!;
    // A server that has responded before it has read the whole request may never read the rest.
    // A response that took long may have waited for a machine that slept.
    if (!this.#parser.keepsOpen || socket.writableLength > 0 || this.isOverdue) this.close();
    else if (!this.#closed) {
      this.reused = true;
      this.#since = Date.now();
      socket.resume();
      socket.unref();
      this.#pool.release(this);
    }
    listener?.onend();
  }

  #write(socket: Socket, head: string, body = ''): void {
    this.#listener!.onsent();
    this.#since = Date.now();
    if (Buffer.byteLength(body) === body.length) {
      socket.write(head + body, 'latin1');
      return;
    }
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
  }

  #use(socket: Socket): void {
    this.#socket = socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER);
    this.#setIdleTime(SERVER_IDLE_TIMEOUT * MARGIN);
    let failure: Error | undefined;
    const read = (parse: () => void): void => {
      try {
        parse();
      } catch (error) {
        this.end(error as Error);
      }
    };
    socket.on('data', (bytes: Buffer) => {
      // No request is open, so the server must not send anything.
      if (this.#listener) read(() => this.#parser.push(bytes));
      else this.close();
    });
    socket.on('end', () => {
      if (this.#listener) read(() => this.#parser.end());
      else this.end(CLOSED);
    });
    socket.on('timeout', () => this.#listener ?? this.close());
    socket.on('error', (error) => (failure = error));
    socket.on('close', () => this.end(failure ?? CLOSED));
  }

  /** How long the connection is kept without a request. At 0, it carries no further request. */
  #setIdleTime(milliseconds: number): void {
    if (milliseconds === 0) this.#parser.keepsOpen = false;
    else if (this.#socket!.timeout !== milliseconds) this.#socket!.setTimeout(milliseconds);
  }

  #connect(done: (error: Error | undefined, socket?: Socket) => void): void {
    const { origin, proxy, connectTimeout, wiretap } = this.#pool.options;
    // The user chose the proxy, so its name is resolved without the given lookup.
    const lookup = proxy ? undefined : this.#pool.options.lookup;
    const server = new URL(origin);
    const first = proxy?.url ?? server;
    const onTimeout = (): void =>
      void this.#connecting?.destroy(new Error(`no connection within ${connectTimeout} ms`));
    const timer = startTimer(connectTimeout, onTimeout);
    const settle = (error: Error | undefined, socket?: Socket): void => {
      clearTimeout(timer);
      done(error, socket);
    };
    const use = (socket: Socket, event: string, peer: string): void => {
      this.#connecting = socket;
      socket.once('error', settle).once(event, () => {
        socket.off('error', settle);
        if (wiretap) tapSocket(wiretap, { protocol: 'http', role: 'client', peer }, socket);
        settle(undefined, socket);
      });
    };
    const useTls = (url: URL, socket?: Socket): void => {
      const host = hostOf(url);
      const name = isIP(host) === 0 ? host : '';
      const { session } = this.#pool;
      const port = Number(url.port || 443);
      const tls = connectTls({ host, port, servername: name, session, socket, lookup, ALPNProtocols: ['http/1.1'] });
      tls.on('session', (resumable) => (this.#pool.session = resumable));
      use(tls, 'secureConnect', url.host);
    };
    if (proxy && server.protocol === 'https:') {
      this.#connecting = openTunnel(proxy, server, (error, tunnel) => {
        if (tunnel) useTls(server, tunnel);
        else settle(error!);
      });
    } else if (first.protocol === 'https:') {
      useTls(first);
    } else {
      const port = Number(first.port || 80);
      const options = { host: hostOf(first), port, lookup, readableHighWaterMark: READ_SIZE };
      use(connectTcp(options), 'connect', first.host);
    }
  }
}

/** The host to connect to: IPv6 without brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
