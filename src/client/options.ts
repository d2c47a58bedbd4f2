import type { Middleware } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { LogLevel } from '../protocol/logging.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { Implementation } from '../protocol/types.ts';
import type { Authorizer } from '../transport/http/client/authorizer.ts';
import type { ReconnectionOptions } from '../transport/http/client/reconnection.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import type { EraCache } from '../wire/era-cache.ts';
import type { Change, Handlers, LogMessage, Progress } from './handlers.ts';
import type { CacheOptions } from './result-cache.ts';

/** The options of one request. */
export interface RequestOptions {
  /** Cancels the request: it rejects with the signal's reason, and the server is notified. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds without a response before the request fails with a `TimeoutError`. Each progress notification restarts
   * it. It does not run during a question of the server or a login. 0: no limit. Default: the client's.
   */
  timeout?: number | undefined;
  /**
   * The limit in total, in milliseconds, including progress and questions. For `listTools` and similar methods: for all
   * pages. 0: no limit. Default: the client's.
   */
  maxTimeout?: number | undefined;
  /** Gets the progress. Without this handler, the server is not asked for progress. */
  onprogress?: ((progress: Progress) => unknown) | undefined;
  /** The minimum level of log messages for this request, from 2026-07-28 on. Default: the client's. */
  logLevel?: LogLevel | undefined;
  /**
   * Whether the request may be sent again if the connection was lost and it may have run. Default: false for tools,
   * true for requests that only read. A request that certainly did not run is always sent again, once.
   */
  idempotent?: boolean | undefined;
  /** Further entries for `_meta`. */
  meta?: JsonObject | undefined;
}

/** The options of a request whose result can be cached. */
export interface ReadOptions extends RequestOptions {
  /** Asks the server even if a cached result is fresh. Default false. */
  fresh?: boolean | undefined;
}

/** The options of reading a list. */
export interface ListOptions extends ReadOptions {
  /** The most pages that are read before the list fails as endless. Default 1000. */
  maxPages?: number | undefined;
}

/** The options of waiting for a task. */
export interface TaskOptions {
  /** Stops waiting. */
  signal?: AbortSignal | undefined;
  /** The longest wait, in milliseconds. 0: no limit. Default: the client's. */
  maxTimeout?: number | undefined;
  /** Gets the task's status each time it is polled. */
  onstatus?: ((task: DetailedTask) => unknown) | undefined;
}

/** The limits for a server at a URL. The defaults suit most servers. */
export interface HttpLimits {
  /** The largest incoming message, in bytes. A call with a larger response fails. Default 16 MiB. */
  maxMessageBytes?: number | undefined;
  /**
   * How much unsent data may wait for a handshake server, in UTF-16 code units. A call beyond it fails. Default 64 Mi.
   */
  maxPending?: number | undefined;
  /**
   * Milliseconds without any data, even a comment, before an event stream counts as lost. 0: no limit. Default 10
   * minutes.
   */
  idleTimeout?: number | undefined;
  /**
   * Milliseconds that a handshake server may take to accept a notification or a response. 0: no limit. Default 30 000.
   */
  acceptTimeout?: number | undefined;
  /**
   * The longest total wait for `Retry-After` headers of one message, in milliseconds. If a server asks for more, the
   * message fails at once. 0: never wait. Default 30 000.
   */
  maxRetryAfter?: number | undefined;
  /** When to stop resuming a broken stream of a handshake server. Default: after 8 attempts in a row, or 2 minutes. */
  reconnection?: ReconnectionOptions | undefined;
}

/** HTTP options for a server at a URL. Ignored for other targets. */
export interface HttpClientOptions {
  /** Headers for each request, such as an API key. Never sent to another origin. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Adds credentials to requests, and gets new ones if a server refuses them. Default: none. */
  authorizer?: Authorizer | undefined;
  /** Sends requests instead of the client's own HTTP connections. Not together with `proxy`. */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * The URL of the proxy for all requests, also to loopback; false for none. `http` or `https`, and it may contain a user
   * and a password. Give it to `oauth`, too. Default: the one that `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`
   * name.
   */
  proxy?: string | URL | false | undefined;
  /** Limits on sizes, times and retries. */
  httpLimits?: HttpLimits | undefined;
}

/** The options of a client: its identity, handlers and limits. */
export interface ClientOptions extends Handlers, HttpClientOptions {
  /** Default: this package. */
  clientInfo?: Implementation | undefined;
  /** The only revision to use. Default: the server's preference. */
  revision?: Revision | undefined;
  /** Only revisions with a handshake (`legacy`), or only those without (`modern`). Default `both`. */
  eras?: 'both' | 'legacy' | 'modern' | undefined;
  /** Capabilities to declare in addition to those of the handlers: extensions, or experimental ones. */
  capabilities?: JsonObject | undefined;
  /** Milliseconds that a request may go without a response or progress. 0: no limit. Default 60 000. */
  timeout?: number | undefined;
  /** Milliseconds that a request may take in total. 0: no limit. Default 3 600 000. */
  maxTimeout?: number | undefined;
  /** Milliseconds that connecting may take, without the time for a login. 0: no limit. Default 60 000. */
  connectTimeout?: number | undefined;
  /**
   * Milliseconds without a response to the probe before a server is treated as a handshake server. Applies to servers
   * with their own connection, such as stdio. 0: as long as possible. Never more than half of `connectTimeout`, so that
   * the handshake has the rest. Default 5000.
   */
  probeTimeout?: number | undefined;
  /** Caches the eras of servers, so that the next connection needs no probe. Default: in this process. */
  eraCache?: EraCache | undefined;
  /** Cancels connecting. */
  signal?: AbortSignal | undefined;
  /** Middleware around the service. The first is the outermost. */
  middleware?: readonly Middleware[] | undefined;
  /** The minimum level of log messages. Default: `info` if there is an `onlog`, else none. */
  logLevel?: LogLevel | undefined;
  /** How many rounds of questions one request may have before it fails. Default 16. */
  maxRounds?: number | undefined;
  /**
   * Whether results are cached for as long as the server allows, and how many (2026-07-28, server/utilities/caching).
   */
  cache?: CacheOptions | false | undefined;
  /** Whether calls may become tasks (`io.modelcontextprotocol/tasks`). Default true. */
  tasks?: boolean | undefined;
  /** Whether the next call makes a new connection after a loss, if that is possible. Default true. */
  restart?: boolean | undefined;
  /**
   * Sees the bytes of all connections to a URL or a command, such as a `Capture` of `everwire/inspect`. It sees nothing of
   * a given `fetch` or transport. Default none.
   */
  wiretap?: Wiretap | undefined;
  /** Gets the server's log messages. */
  onlog?: ((message: LogMessage) => unknown) | undefined;
  /** Gets changes of the server's lists, from the moment that the client is connected. */
  onchange?: ((change: Change) => unknown) | undefined;
  /** Gets the server's notifications that no other handler handles. */
  onnotification?: ((method: string, params: JsonObject) => unknown) | undefined;
  /**
   * Called when the connection is lost, with the reason if it is known. `client.closed` says whether the next call makes
   * another one. Not called if the client closes it.
   */
  onlost?: ((reason: Error | undefined) => unknown) | undefined;
  /** Gets every error that cannot be returned to a caller. Default: writes its message to stderr. */
  onerror?: ((error: Error) => void) | undefined;
}
