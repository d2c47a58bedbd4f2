import type { Service } from '../core/exchange.ts';
import type { Transport } from '../transport/transport.ts';
import type { ChildOptions } from '../transport/stdio/child.ts';

/** A command that is started, and spoken to over its stdin and stdout. What is not given is as `ChildOptions` says. */
export type CommandTarget = ChildOptions;

/** A server at a URL of which it is known what is spoken there. Where that is to be found out, the URL itself is enough. */
export interface UrlTarget {
  /** Of http or https. */
  readonly url: string | URL;
  /**
   * The one transport that is tried: `http` for Streamable HTTP, of whichever revision, and `sse` for HTTP+SSE, the transport
   * of 2024-11-05, which has no revision without a handshake. Default: found out.
   */
  readonly transport?: 'http' | 'sse' | undefined;
}

/** A server in this process: anything with a service, `McpServer` for one. */
export interface ServerTarget {
  readonly service: Service;
}

/** A transport that can tell why it closed, in its `closeReason`: what was in flight fails with that. */
export type ClientTransport = Transport & { readonly closeReason?: Error | undefined };

/** What a client can be connected to. A string is a URL, of http or https. A function makes a transport of its own for each connection. */
export type Target =
  | string
  | URL
  | UrlTarget
  | CommandTarget
  | ServerTarget
  | ClientTransport
  | (() => ClientTransport);

/** What kind of target it is. @throws TypeError where it is none. */
export function kindOf(target: Target): 'url' | 'command' | 'server' | 'transport' | 'transports' {
  if (typeof target === 'function') return 'transports';
  if (typeof target === 'string' || target instanceof URL) return 'url';
  if (typeof target === 'object' && target !== null) {
    if ('service' in target && typeof target.service === 'function') return 'server';
    if ('send' in target && typeof target.send === 'function') return 'transport';
    if ('command' in target && typeof target.command === 'string') return 'command';
    if ('url' in target && (typeof target.url === 'string' || target.url instanceof URL)) return 'url';
  }
  throw new TypeError('connect takes a URL, a command, a server, a transport or a function that makes one');
}
