import type { SecureContextOptions } from 'node:tls';
import { reportTo } from '../../../jsonrpc/stderr-report.ts';
import type { Wiretap } from '../../wiretap.ts';
import { createHttpHandler, type HttpHandler, type HttpHandlerOptions } from './handler.ts';
import { isLoopback } from './access/guards.ts';
import { SocketServer, type AcceptedConnections } from './socket-server.ts';

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
  /** @internal Connections to serve instead of those to a port. */
  readonly accepted?: AcceptedConnections | undefined;
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

const WILDCARDS = new Set(['0.0.0.0', '::', '']);

/**
 * Serves HTTP/1.1 on its own address and port. The head of a request may take 15 seconds and 16 KiB, the whole request 60
 * seconds, and an idle connection is kept for 65 seconds. Requests of one connection run one after the other. A TLS
 * handshake may take 15 seconds.
 *
 * It does not use `node:http`, so what instruments that module sees no requests. Mount `nodeListener` there instead.
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
  const { server, bound } = await open(handler, host, port, options).catch(async (error: unknown) => {
    await handler.close();
    throw error;
  });
  const scheme = options.tls ? 'https' : 'http';
  const base = `${scheme}://${hostForUrl(wildcard ? '127.0.0.1' : host)}:${bound}`;
  return {
    host,
    port: bound,
    url: base + handler.path,
    sseUrl: handler.ssePath === false ? undefined : base + handler.ssePath,
    handler,
    renewTls: (credentials) => server.renew(secureContext(credentials)),
    close: (timeout = 5000) => server.close(timeout, handler.close()),
    // Copies of this object have their own `close`.
    [Symbol.asyncDispose](this: HttpListener) {
      return this.close();
    },
  };
}

async function open(
  handler: HttpHandler,
  host: string,
  port: number,
  options: ListenOptions,
): Promise<{ readonly server: SocketServer; readonly bound: number }> {
  const server = await serverFor(handler, options);
  if (options.accepted) return { server, bound: server.serve(options.accepted) };
  return { server, bound: await server.listen(host, port, reportTo(options.onerror)) };
}

async function serverFor(handler: HttpHandler, { tls, wiretap }: ListenOptions): Promise<SocketServer> {
  if (!tls) return SocketServer.create(handler, undefined, wiretap);
  try {
    return await SocketServer.create(handler, secureContext(tls), wiretap);
  } catch (cause) {
    throw new Error(`the certificate and the key cannot be used: ${(cause as Error).message}`, { cause });
  }
}

function secureContext({ cert, key }: TlsCredentials): SecureContextOptions {
  const bytes = (pem: string | Uint8Array): string | Buffer => (typeof pem === 'string' ? pem : Buffer.from(pem));
  return { cert: bytes(cert), key: bytes(key), minVersion: 'TLSv1.2' };
}

function hostForUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
