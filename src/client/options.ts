import type { Middleware } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { Implementation } from '../protocol/types.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import type { ReconnectionOptions } from '../transport/http/client/reconnection.ts';
import type { EraCache } from '../wire/era-cache.ts';
import type { Change, Handlers, LogMessage, Progress } from './handlers.ts';
import type { CacheOptions } from './result-cache.ts';

/** How one request goes. */
export interface RequestOptions {
  /** Gives the request up: it rejects with the signal's reason, and the server is told. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds without an answer before the request fails with a `TimeoutError`, counted anew from each progress; not
   * while the server asks something, nor while a person logs in. 0 for ever. Default: that of the client.
   */
  timeout?: number | undefined;
  /** The same in all, whatever progress comes and whatever is asked; of `listTools` and its like, for all pages. Default: that of the client. */
  maxTimeout?: number | undefined;
  /** Hears how far the server is; without it the server is not asked to say. */
  onprogress?: ((progress: Progress) => void) | undefined;
  /** The least severe log message of this request that is wanted, from 2026-07-28 on. Default: that of the client. */
  logLevel?: LogLevel | undefined;
  /**
   * Whether it does no harm to send the request again where the connection was lost and it may have run. Default: for
   * tools not, for all that only reads yes. What certainly did not run is sent again, once, whatever it is.
   */
  idempotent?: boolean | undefined;
  /** What else goes into `_meta`. */
  meta?: JsonObject | undefined;
}

/** How something that can be kept is read. */
export interface ReadOptions extends RequestOptions {
  /** Asks the server, though what it said before may still be kept. Default false. */
  fresh?: boolean | undefined;
}

/** How a list is read. */
export interface ListOptions extends ReadOptions {
  /** Pages that are read before the list fails as endless. Default 1000. */
  maxPages?: number | undefined;
}

/** How a task is waited for. */
export interface TaskOptions {
  /** Gives the waiting up. */
  signal?: AbortSignal | undefined;
  /** Milliseconds to wait at the most; 0 for ever. Default: that of the client. */
  maxTimeout?: number | undefined;
  /** Hears how the task stands, each time that is asked. */
  onstatus?: ((task: DetailedTask) => void) | undefined;
}

/** The bounds of speaking to a server at an address. Each has a default that does for most. */
export interface HttpLimits {
  /** The bound of one incoming message, in bytes. A call whose answer is larger fails. Default 16 MiB. */
  maxMessageBytes?: number | undefined;
  /** How much may wait to be taken by a handshake server, in UTF-16 code units. A call beyond it fails. Default 64 Mi. */
  maxPending?: number | undefined;
  /**
   * Milliseconds that an event stream may be silent, without even a comment, before its connection is taken for lost. 0 for
   * ever. Default 10 minutes.
   */
  idleTimeout?: number | undefined;
  /** Milliseconds that a handshake server may take to accept a notification or an answer; 0 for ever. Default 30 000. */
  acceptTimeout?: number | undefined;
  /**
   * Milliseconds that `Retry-After` may ask to wait, in all for one message. A server that asks for more is not waited for.
   * 0 waits for none. Default 30 000.
   */
  maxRetryAfter?: number | undefined;
  /** When the stream of a handshake server that broke off is given up. Default: after 8 attempts in a row, or 2 minutes. */
  reconnection?: ReconnectionOptions | undefined;
}

/** How a server at an address is spoken to. Of no account for other targets. */
export interface HttpClientOptions {
  /** Sent with each request: an API key, for one. Never sent to another origin. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Gives requests their credentials, and gets new ones where a server refuses them. Default none. */
  authorizer?: Authorizer | undefined;
  /** Sends requests in place of `node:http`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How large, how long and how often. */
  httpLimits?: HttpLimits | undefined;
}

/** Who a client is, what it can be asked, and what it hears. */
export interface ClientOptions extends Handlers, HttpClientOptions {
  /** Default: this package. */
  clientInfo?: Implementation | undefined;
  /** The only revision to be spoken. Default: whichever the server prefers. */
  revision?: Revision | undefined;
  /** Only revisions with a handshake (`legacy`), or only those without (`modern`). Default `both`. */
  eras?: 'both' | 'legacy' | 'modern' | undefined;
  /** Capabilities to declare beside those of the handlers: extensions, or experimental ones. */
  capabilities?: JsonObject | undefined;
  /** Milliseconds that a request may go without an answer or progress; 0 for ever. Default 60 000. */
  timeout?: number | undefined;
  /** Milliseconds that a request may take in all; 0 for ever. Default 3 600 000. */
  maxTimeout?: number | undefined;
  /**
   * Milliseconds that it may take to connect, not counting the time that a person takes to log in; 0 for ever. Default
   * 60 000.
   */
  connectTimeout?: number | undefined;
  /**
   * Milliseconds that a server on a connection of its own may be silent before it is taken for one of the handshake
   * revisions; 0 for as long as that may be. Never more than half of `connectTimeout`: the handshake has the rest. Default 5000.
   */
  probeTimeout?: number | undefined;
  /** Remembers the eras of servers, so that the next connection needs no probe. Default: in this process. */
  eraCache?: EraCache | undefined;
  /** Gives connecting up. */
  signal?: AbortSignal | undefined;
  /** What goes around the service; the first is the outermost. */
  middleware?: readonly Middleware[] | undefined;
  /** The least severe log message that is wanted. Default: `info` where there is an `onlog`, else none. */
  logLevel?: LogLevel | undefined;
  /** How often one request may come back with questions before it fails. Default 16. */
  maxRounds?: number | undefined;
  /** Whether results are kept for as long as the server says, and how many (2026-07-28, server/utilities/caching). */
  cache?: CacheOptions | false | undefined;
  /** Whether calls may become tasks (`io.modelcontextprotocol/tasks`). Default true. */
  tasks?: boolean | undefined;
  /** Whether a connection that was lost is made again for the next call, where it can be. Default true. */
  restart?: boolean | undefined;
  /** Hears the log of the server. */
  onlog?: ((message: LogMessage) => void) | undefined;
  /** Hears that the server's lists have changed, from when the client is connected. */
  onchange?: ((change: Change) => void) | undefined;
  /** Hears the server's notifications that nothing else is for. */
  onnotification?: ((method: string, params: JsonObject) => void) | undefined;
  /** Hears of every error that no caller can be told of. Default: writes it to stderr. */
  onerror?: ((error: Error) => void) | undefined;
}
