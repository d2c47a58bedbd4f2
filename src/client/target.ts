import type { Service } from '../core/exchange.ts';
import type { Transport } from '../transport/transport.ts';
import type { ChildOptions } from '../transport/stdio/child.ts';

/** A command that is started and used over its stdin and stdout. `ChildOptions` has the defaults. */
export type CommandTarget = ChildOptions;

/** A server at a URL with a known transport. If the transport is to be detected, a plain URL is enough. */
export interface UrlTarget {
  /** An http or https URL. */
  readonly url: string | URL;
  /**
   * The only transport to try. `http`: Streamable HTTP, in any revision. `sse`: HTTP+SSE, the transport of 2024-11-05,
   * which supports only handshake revisions. Default: detected.
   */
  readonly transport?: 'http' | 'sse' | undefined;
}

/** A server in this process: any object with a service, such as an `McpServer`. */
export interface ServerTarget {
  readonly service: Service;
  /** Serves one connection, and closes it when the server is closed. Default: the service is served until the client closes. */
  connect?(transport: Transport): Promise<void>;
}

/** A transport that may say why it closed, in `closeReason`. Calls in flight fail with that reason. */
export type ClientTransport = Transport;

/**
 * What a client can connect to. A string is an http or https URL. A function makes a new transport for each connection.
 */
export type Target =
  | string
  | URL
  | UrlTarget
  | CommandTarget
  | ServerTarget
  | ClientTransport
  | (() => ClientTransport);

/** Finds the kind of a target. @throws TypeError if it is invalid. */
export function kindOf(target: Target): 'url' | 'command' | 'server' | 'transport' | 'transports' {
  if (typeof target === 'function') return 'transports';
  if (typeof target === 'string' || target instanceof URL) return 'url';
  if (typeof target === 'object' && target !== null) {
    if ('service' in target && typeof target.service === 'function') return 'server';
    if ('send' in target && typeof target.send === 'function') return 'transport';
    if ('command' in target && typeof target.command === 'string') return 'command';
    if ('url' in target && (typeof target.url === 'string' || target.url instanceof URL)) return 'url';
  }
  const [command, ...args]: unknown[] = Array.isArray(target) ? target : [];
  if (command !== undefined)
    throw new TypeError(
      `connect takes a command as { command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)} }`,
    );
  throw new TypeError('connect needs a URL, a command, a server, a transport, or a function that creates a transport');
}
