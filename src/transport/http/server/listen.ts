import { createServer, type Server } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { tapSocket, type Wiretap } from '../../wiretap.ts';
import { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from './handler.ts';
import { isLoopback } from './access/guards.ts';
import { nodeListener } from './node.ts';
import { hasUnanswered } from './pipelining.ts';

/** Where to listen, and the options of the handler. */
export interface ListenOptions extends HttpHandlerOptions {
  /**
   * Default 127.0.0.1. For any other address, list the hosts under which clients reach the server in `allowedHosts`.
   */
  readonly host?: string | undefined;
  /** Default 8000; 0 selects a free one. */
  readonly port?: number | undefined;
  /** Serves HTTPS, from TLS 1.2. Default: plain HTTP. */
  readonly tls?: TlsCredentials | undefined;
  /** Sees the bytes of each connection, decrypted. Default none. */
  readonly wiretap?: Wiretap | undefined;
}

/** The TLS certificate and key of a server, as PEM. */
export interface TlsCredentials {
  /** The certificate, followed by the intermediate certificates. */
  readonly cert: string | Uint8Array;
  readonly key: string | Uint8Array;
}

/** A listening HTTP server. */
export interface HttpListener {
  /** The address as it was given. */
  readonly host: string;
  /** The port in use, also if 0 was given. */
  readonly port: number;
  /** URL of the Streamable HTTP endpoint. */
  readonly url: string;
  /** URL of the HTTP+SSE transport, if that is on. */
  readonly sseUrl: string | undefined;
  /** Answers the requests. May also be used for requests from elsewhere. */
  readonly handler: HttpHandler;
  /**
   * Uses other TLS credentials for new connections. Open connections keep theirs.
   *
   * @throws Error if the server uses plain HTTP, or if the credentials cannot be used. The previous ones stay then.
   */
  renewTls(credentials: TlsCredentials): void;
  /**
   * Stops accepting connections, ends all sessions and waits up to `timeout` milliseconds (default 5 000) for responses
   * to be written. Then closes the remaining connections.
   */
  close(timeout?: number): Promise<void>;
  /** Does the same as `close`. `await using listener = await server.listen(…)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The time for the headers of a request, and for the whole request. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** The time for a TLS handshake. */
const HANDSHAKE_TIMEOUT_MS = 15_000;
/** How long an idle connection is kept for the next request. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const WILDCARDS = new Set(['0.0.0.0', '::', '']);

function ignore(): void {}

/**
 * Serves HTTP on its own address and port. The headers of a request may take 15 seconds, the whole request 60 seconds,
 * and an idle connection is kept for 65 seconds. Requests of one connection run one after the other. A connection may
 * have 100 unanswered requests. The next one is answered with 503 and closes the connection. A TLS handshake may take
 * 15 seconds.
 *
 * @throws Error with a readable message if the address cannot be used.
 */
export async function listen(options: ListenOptions): Promise<HttpListener> {
  const host = options.host ?? '127.0.0.1';
  const port = options.port ?? 8000;
  const wildcard = WILDCARDS.has(host);
  const handler = createHttpHandler({
    ...options,
    allowedHosts:
      wildcard || isLoopback(host) ? options.allowedHosts : [hostForUrl(host), ...(options.allowedHosts ?? [])],
    allowIpHosts: options.allowIpHosts ?? wildcard,
  });
  const server = await createServerFor(options.tls);
  // All headers are checked, however many. `node:http` limits their total size.
  server.maxHeadersCount = 0;
  server.on('clientError', answerClientError);
  const sockets = socketsOf(server, options.tls !== undefined);
  const { wiretap } = options;
  if (wiretap) {
    server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      tapSocket(wiretap, { protocol: 'http', role: 'server', peer }, socket);
      // `node:http` reads a socket natively until its stream has a listener.
      socket.prependListener('data', ignore).off('data', ignore);
    });
  }
  server.on('request', nodeListener(handler));
  await bind(server, host, port);
  // Without a listener, an error would end the process, for example when no file descriptors are left.
  server.on('error', (error) => options.onerror?.(error));
  const bound = (server.address() as AddressInfo).port;
  const scheme = options.tls ? 'https' : 'http';
  const base = `${scheme}://${hostForUrl(wildcard ? '127.0.0.1' : host)}:${bound}`;
  return {
    host,
    port: bound,
    url: base + handler.path,
    sseUrl: handler.ssePath === false ? undefined : base + handler.ssePath,
    handler,
    renewTls: (credentials) => {
      if (!('setSecureContext' in server)) throw new Error('This listener serves plain HTTP');
      server.setSecureContext(secureContext(credentials));
    },
    close: (timeout) => close(server, sockets, handler, timeout),
    // Copies of this object have their own `close`.
    [Symbol.asyncDispose](this: HttpListener) {
      return this.close();
    },
  };
}

async function createServerFor(tls: TlsCredentials | undefined): Promise<Server | HttpsServer> {
  const options = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    noDelay: true,
  };
  if (!tls) return createServer(options);
  const https = await import('node:https');
  try {
    return https.createServer({ ...options, ...secureContext(tls), handshakeTimeout: HANDSHAKE_TIMEOUT_MS });
  } catch (cause) {
    throw new Error(`the certificate and the key cannot be used: ${(cause as Error).message}`, { cause });
  }
}

function secureContext({ cert, key }: TlsCredentials): SecureContextOptions {
  const bytes = (pem: string | Uint8Array): string | Buffer => (typeof pem === 'string' ? pem : Buffer.from(pem));
  return { cert: bytes(cert), key: bytes(key), minVersion: 'TLSv1.2' };
}

/** The open connections of a server, including those in a TLS handshake. */
function socketsOf(server: Server | HttpsServer, tls: boolean): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  const shaking = new Map<string, Socket>();
  const name = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  const add = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', (socket: Socket) => {
    add(socket);
    if (!tls) return;
    const from = name(socket);
    shaking.set(from, socket);
    socket.once('close', () => shaking.delete(from));
  });
  server.on('secureConnection', (socket: Socket) => {
    // From here on, the encrypted socket shows whether a connection is busy.
    const from = name(socket);
    sockets.delete(shaking.get(from)!);
    shaking.delete(from);
    add(socket);
  });
  return sockets;
}

function bind(server: Server | HttpsServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException): void => reject(new Error(bindProblem(cause, host, port), { cause }));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function bindProblem(cause: NodeJS.ErrnoException, host: string, port: number): string {
  switch (cause.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is already in use; choose another port, or 0 for a free one`;
    case 'EACCES':
      return `port ${port} on ${host} needs more rights than this process has`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine`;
    default:
      return `cannot listen on ${host}:${port}: ${cause.message}`;
  }
}

function hostForUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Answers what the HTTP parser could not read. The statuses are those of `node:http` itself. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

async function close(
  server: Server | HttpsServer,
  sockets: ReadonlySet<Socket>,
  handler: HttpHandler,
  timeout = 5000,
): Promise<void> {
  // Not the `close` of `node:http`: it closes connections while their last response is still being read.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const timer = setTimeout(() => server.closeAllConnections(), timeout);
  await handler.close();
  const sweep = (): void => {
    for (const socket of sockets) if (!isBusy(socket)) socket.destroy();
  };
  sweep();
  // A connection becomes idle when its reader has read the rest of its stream. Clients would keep it open.
  const sweeping = setInterval(sweep, 20);
  await closed;
  clearInterval(sweeping);
  clearTimeout(timer);
  // The server's own timers.
  server.close();
}

/** Whether a response is being made or read on a connection. */
function isBusy(socket: Socket): boolean {
  return socket.writableLength > 0 || hasUnanswered(socket);
}
